// The rows that nearly every resource has, in one form each: create, list, read, change, remove (contract, part 4).
import { decide } from "../decisions.ts";
import { listQuery, type Owned, type Page, type Sent } from "../domain/lists.ts";
import type { OfAccount, Scope } from "../domain/model.ts";
import type { Span } from "../domain/store.ts";
import { type ObjectSchema, trusted } from "../kit/schema.ts";
import { type Asked, type Operation, route, type Spec } from "./route.ts";
import { page, type View, view } from "./view.ts";

/** The scope of all that no line of the specification's table of scopes names (part 5). */
export const MANAGE = decide("5.scope-per-endpoint");
export const MANAGED = [MANAGE, MANAGE, MANAGE] as const;
const CHANGE = decide("4.app-endpoints");

interface Resource<R extends OfAccount, N, D, Q> {
  /** Of one of them: `/apps/{app_id}`. */
  readonly path: string;
  /** As the operations call it, and the description what they answer: createApp, listApps, App. */
  readonly noun: string;
  /** As people call one, several, and what goes with one. */
  readonly words: readonly [one: string, many: string, gone: string];
  readonly scopes: readonly [read: Scope, write: Scope, remove: Scope];
  readonly owned: Owned<R, D, N>;
  /** What each row says beside what all of its kind do. */
  readonly create: Partial<Spec<string, unknown, D, N>>;
  readonly list?: Partial<Spec<string, Q, undefined, Page<R>>>;
  /** Without it none can be changed. */
  readonly update?: Partial<Spec<string, unknown, Sent<R>, R>>;
  readonly remove?: Partial<Spec<string, unknown, undefined, R>>;
}

/** The row that reads one, for whatever else is done to it; and all of them. */
export function resource<R extends OfAccount, N extends R, D, Q = Span>(
  of: Resource<R, N, D, Q>,
): { readonly get: Operation; readonly rows: readonly Operation[] } {
  const { path, noun, owned } = of;
  const shows: View<R> = view(noun, owned.shown);
  const [one, many, gone] = of.words;
  const [read, write, remove] = of.scopes;
  const all = path.slice(0, path.lastIndexOf("/"));
  const parameter = path.slice(all.length + 2, -1);
  const idOf = ({ params }: Asked) => params[parameter] ?? "";
  const get = route(`GET ${path}`, read, `get${noun}`, `Read ${one}`, {
    view: shows,
    run: (asked) => owned.get(asked.unit.store, asked.account, idOf(asked)),
  });
  const create = route(`POST ${all}`, write, `create${noun}`, `Create ${one}`, {
    ...{ bodyName: `${noun}Create`, body: owned.draft, view: shows, location: ({ id }: N) => `${all}/${id}` },
    run: ({ unit, account, body }) => owned.create(unit, account, body),
    ...of.create,
  });
  const list = route(`GET ${all}`, read, `list${noun}s`, `List ${many}`, {
    query: trusted<ObjectSchema<Q>>(listQuery),
    view: page(shows),
    run: ({ unit, account, query }) => owned.list(unit.store, account, trusted(query)),
    ...of.list,
  });
  const change = route(`${CHANGE} ${path}`, write, `update${noun}`, `Change ${one}`, {
    ...{ target: get, bodyName: `${noun}Update`, body: trusted<ObjectSchema<Sent<R>>>(owned.changes), view: shows },
    run: (asked) => owned.change(asked.unit, asked.account, idOf(asked), asked.body, asked.expect),
    ...of.update,
  });
  const drop = route(`DELETE ${path}`, remove, `delete${noun}`, `Delete ${gone}`, {
    target: get,
    run: (asked) => owned.remove(asked.unit, asked.account, idOf(asked), asked.expect),
    ...of.remove,
  });
  return { get, rows: [create, list, get, ...(of.update ? [change] : []), drop] };
}
