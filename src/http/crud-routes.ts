// CRUD routes that nearly every resource has: create, list, read, update, delete (contract, part 4).

import { type CrudService, listQuery, type Page, type Patch } from "../domain/crud.ts";
import type { AccountScoped, Scope } from "../domain/model.ts";
import type { Range } from "../domain/store.ts";
import { decide } from "../former-decisions.ts";
import { type ObjectSchema, unsafeCast } from "../lib/schema.ts";
import { type HandlerContext, type Operation, type RouteOptions, route } from "./route.ts";
import { listSerializer, resourceSerializer, type Serializer } from "./serializers.ts";

/** Scope of operations that the specification's scope table does not name (part 5). */
export const ADMIN_SCOPE = decide("5.scope-per-endpoint");
export const ADMIN_SCOPES = [ADMIN_SCOPE, ADMIN_SCOPE, ADMIN_SCOPE] as const;
const UPDATE_METHOD = decide("4.app-endpoints");

interface CrudOptions<R extends AccountScoped, N, D, Q> {
  /** Path of one resource: `/apps/{app_id}`. */
  readonly path: string;
  /** Name in operation ids and schemas: createApp, listApps, App. */
  readonly noun: string;
  /** Labels in summaries: one, several, and one with everything that is deleted with it. */
  readonly labels: readonly [one: string, many: string, gone: string];
  readonly scopes: readonly [read: Scope, write: Scope, remove: Scope];
  readonly service: CrudService<R, D, N>;
  /** Options of each route beyond those that all of its kind have. */
  readonly create: Partial<RouteOptions<string, unknown, D, N>>;
  readonly list?: Partial<RouteOptions<string, Q, undefined, Page<R>>>;
  /** Without it there is no update route. */
  readonly update?: Partial<RouteOptions<string, unknown, Patch<R>, R>>;
  readonly remove?: Partial<RouteOptions<string, unknown, undefined, R>>;
}

/** Returns the read route, for other operations on the resource, and all routes. */
export function crudRoutes<R extends AccountScoped, N extends R, D, Q = Range>(
  of: CrudOptions<R, N, D, Q>,
): { readonly getRoute: Operation; readonly rows: readonly Operation[] } {
  const { path, noun, service: owned } = of;
  const serializer: Serializer<R> = resourceSerializer(noun, owned.response);
  const [one, many, gone] = of.labels;
  const [read, write, remove] = of.scopes;
  const collectionPath = path.slice(0, path.lastIndexOf("/"));
  const parameter = path.slice(collectionPath.length + 2, -1);
  const idOf = ({ params }: HandlerContext) => params[parameter] ?? "";
  const getRoute = route(`GET ${path}`, read, `get${noun}`, `Read ${one}`, {
    serializer,
    handler: (asked) => owned.get(asked.unitOfWork.store, asked.account, idOf(asked)),
  });
  const createRoute = route(`POST ${collectionPath}`, write, `create${noun}`, `Create ${one}`, {
    ...{
      bodyName: `${noun}Create`,
      body: owned.createBody,
      serializer,
      location: ({ id }: N) => `${collectionPath}/${id}`,
    },
    handler: ({ unitOfWork: unit, account, body }) => owned.create(unit, account, body),
    ...of.create,
  });
  const listRoute = route(`GET ${collectionPath}`, read, `list${noun}s`, `List ${many}`, {
    query: unsafeCast<ObjectSchema<Q>>(listQuery),
    serializer: listSerializer(serializer),
    handler: ({ unitOfWork: unit, account, query }) =>
      owned.list(unit.store, account, unsafeCast(query)),
    ...of.list,
  });
  const updateRoute = route(`${UPDATE_METHOD} ${path}`, write, `update${noun}`, `Change ${one}`, {
    ...{
      loads: getRoute,
      bodyName: `${noun}Update`,
      body: unsafeCast<ObjectSchema<Patch<R>>>(owned.updateBody),
      serializer,
    },
    handler: (asked) =>
      owned.update(asked.unitOfWork, asked.account, idOf(asked), asked.body, asked.precondition),
    ...of.update,
  });
  const deleteRoute = route(`DELETE ${path}`, remove, `delete${noun}`, `Delete ${gone}`, {
    loads: getRoute,
    handler: (asked) =>
      owned.delete(asked.unitOfWork, asked.account, idOf(asked), asked.precondition),
    ...of.remove,
  });
  return {
    getRoute,
    rows: [createRoute, listRoute, getRoute, ...(of.update ? [updateRoute] : []), deleteRoute],
  };
}
