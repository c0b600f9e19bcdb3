// CRUD routes that nearly every resource has: create, list, read, update, delete (contract, part 4).
import { type CrudService, listQuery, type Patch } from "../domain/crud.ts";
import type { AccountScoped, Scope } from "../domain/model.ts";
import {
  type HandlerContext,
  listSerializer,
  type Operation,
  resourceSerializer,
  route,
} from "./operation.ts";

/** Scope of operations that the specification's scope table does not name (part 5). */
export const ADMIN_SCOPE: Scope = "admin";

/** `create`, `list`, `update` and `delete` replace or add members of the operation. */
interface CrudOptions<R extends AccountScoped, D, N, Q> {
  /** Path of one resource: `/apps/{app_id}`. */
  readonly path: string;
  /** Name in operation ids and schemas: createApp, listApps, App. */
  readonly noun: string;
  /** Name in summaries. */
  readonly label: string;
  /** Defaults to admin for each. */
  readonly scopes?: { readonly read: Scope; readonly write: Scope; readonly delete: Scope };
  readonly service: CrudService<R, D, N>;
  readonly create: Partial<Operation>;
  readonly list?: Partial<Operation<Q>>;
  readonly update?: Partial<Operation>;
  readonly delete?: Partial<Operation>;
}

/** `R` is the record, `N` the created record with its secret, `D` the create body, `Q` the query of the list. */
export function crudRoutes<R extends AccountScoped, N extends R, D, Q>({
  path,
  noun,
  label,
  scopes = { read: ADMIN_SCOPE, write: ADMIN_SCOPE, delete: ADMIN_SCOPE },
  service,
  ...overrides
}: CrudOptions<R, D, N, Q>) {
  const { updateBody } = service;
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
    summary: `List ${label}s`,
    query: listQuery,
    status: 200,
    serializer: listSerializer(serializer),
    handler: ({ unitOfWork, account, query }) => service.list(unitOfWork.store, account, query),
  });
  const updateRoute =
    updateBody &&
    route({
      method: "PATCH",
      path,
      scope: scopes.write,
      operationId: `update${noun}`,
      summary: `Update ${label}`,
      loads: getRoute,
      bodyName: `${noun}Update`,
      body: () => updateBody,
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
  const routes: Operation[] = [
    { ...createRoute, ...overrides.create },
    { ...listRoute, ...overrides.list },
    getRoute,
    ...(updateRoute ? [{ ...updateRoute, ...overrides.update }] : []),
    { ...deleteRoute, ...overrides.delete },
  ];
  return { getRoute, routes };
}
