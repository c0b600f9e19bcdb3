// CRUD routes that nearly every resource has: create, list, read, update, delete (contract, part 4). A resource adds its
// own members by spreading a route.
import { type CrudService, listQuery, type Patch } from "../domain/crud.ts";
import type { AccountScoped, Scope } from "../domain/model.ts";
import { object } from "../lib/schema.ts";
import { type HandlerContext, listSerializer, resourceSerializer, route } from "./operation.ts";

const NO_FIELDS = object({});

/** Scope of operations that the specification's scope table does not name (part 5). */
export const ADMIN_SCOPE: Scope = "admin";

interface CrudOptions<R extends AccountScoped, D, N> {
  /** Path of one resource: `/apps/{app_id}`. */
  readonly path: string;
  /** Name in operation ids and schemas: createApp, listApps, App. */
  readonly noun: string;
  /** One and several, in summaries. */
  readonly label: string;
  readonly plural: string;
  /** Defaults to admin for each. */
  readonly scopes?: { readonly read: Scope; readonly write: Scope; readonly delete: Scope };
  readonly service: CrudService<R, D, N>;
}

/** `R` is the record, `N` the created record with its secret, `D` the create body. */
export function crudRoutes<R extends AccountScoped, N extends R, D>({
  path,
  noun,
  label,
  plural,
  scopes = { read: ADMIN_SCOPE, write: ADMIN_SCOPE, delete: ADMIN_SCOPE },
  service,
}: CrudOptions<R, D, N>) {
  const collectionPath = path.slice(0, path.lastIndexOf("/"));
  const parameter = path.slice(collectionPath.length + 2, -1);
  const getId = ({ params }: HandlerContext) => params[parameter] ?? "";
  const serializer = resourceSerializer<R>(noun, service.response);
  const getRoute = route({
    method: "GET",
    path,
    scope: scopes.read,
    operationId: `get${noun}`,
    summary: `Read ${label}`,
    status: 200,
    serializer,
    handler: (context) => service.get(context.unitOfWork.store, context.account, getId(context)),
  });
  const createRoute = route({
    method: "POST",
    path: collectionPath,
    scope: scopes.write,
    operationId: `create${noun}`,
    summary: `Create ${label}`,
    bodyName: `${noun}Create`,
    body: () => service.createBody,
    status: 201,
    serializer,
    location: ({ id }) => `${collectionPath}/${id}`,
    handler: ({ unitOfWork, account, body }) => service.create(unitOfWork, account, body),
  });
  const listRoute = route({
    method: "GET",
    path: collectionPath,
    scope: scopes.read,
    operationId: `list${noun}s`,
    summary: `List ${plural}`,
    query: listQuery,
    status: 200,
    serializer: listSerializer(serializer),
    handler: ({ unitOfWork, account, query }) => service.list(unitOfWork.store, account, query),
  });
  const updateRoute = route({
    method: "PATCH",
    path,
    scope: scopes.write,
    operationId: `update${noun}`,
    summary: `Update ${label}`,
    loads: getRoute,
    bodyName: `${noun}Update`,
    // Not used for a resource that cannot be updated.
    body: () => service.updateBody ?? NO_FIELDS,
    status: 200,
    serializer,
    handler: (context) =>
      service.update(
        context.unitOfWork,
        context.account,
        getId(context),
        context.body as Patch<R>,
        context.precondition,
      ),
  });
  const deleteRoute = route({
    method: "DELETE",
    path,
    scope: scopes.delete,
    operationId: `delete${noun}`,
    summary: `Delete ${label}`,
    loads: getRoute,
    status: 204,
    handler: (context) =>
      service.delete(context.unitOfWork, context.account, getId(context), context.precondition),
  });
  return { getRoute, createRoute, listRoute, updateRoute, deleteRoute };
}
