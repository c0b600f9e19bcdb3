// Deployed apps: their pages, the data of their charts, and the results of clicks.
import { type Client, members, str } from "./client.ts";
import { uploaded } from "./wait.ts";

/** Requests as an anonymous visitor. */
export const page = (api: Client, path: string) => api.root.as(null).get(path);

/** A public, deployed app; `path` is its address. */
export async function deployed(api: Client, app: object = {}, request: object = {}) {
  const { id } = await api.create("/apps", { title: "Sales", public: true, ...app });
  const { url } = await api.create(`/apps/${id}/deploy`, { name: "R1", ...request });
  const path = new URL(str(url)).pathname;
  /** Adds data to the app, and waits until they are ready. */
  const give = async (name: string, data: string | object) => {
    const type = typeof data === "string" ? "csv" : "json";
    return (await uploaded(api, { name, type, app_id: id, data })).id;
  };
  return { app: id, path, give, page: () => page(api, path) };
}

export const interactions = async (api: Client) =>
  (await api.get("/events?type=user.interaction&limit=100")).items.map((event) =>
    members(members(event.data).object),
  );
