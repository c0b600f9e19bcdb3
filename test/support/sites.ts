// Deployed apps: what stands at their addresses, the data that they draw, and what came of clicks on it.
import { type Client, members, str } from "./client.ts";
import { uploaded } from "./wait.ts";

/** As anybody sees it. */
export const page = (api: Client, path: string) => api.root.as(null).get(path);

/** An app that anybody may see, deployed; `path` is where. */
export async function deployed(api: Client, app: object = {}, request: object = {}) {
  const { id } = await api.create("/apps", { title: "Sales", public: true, ...app });
  const { url } = await api.create(`/apps/${id}/deploy`, { name: "R1", ...request });
  const path = new URL(str(url)).pathname;
  /** Gives the app data, and waits until they are ready. */
  const give = async (name: string, data: string | object): Promise<string> => {
    const type = typeof data === "string" ? "csv" : "json";
    return (await uploaded(api, { name, type, app_id: id, data })).id;
  };
  return { app: id, path, give, page: () => page(api, path) };
}

export const interactions = async (api: Client) =>
  (await api.get("/events?type=user.interaction&limit=100")).items.map((event) =>
    members(members(event.data).object),
  );
