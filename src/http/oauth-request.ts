// Parses requests to the authorization server: JSON as the spec shows it (part 5) or a form (RFC 6749). Credentials are
// in the body or sent as HTTP Basic. Unknown parameters are ignored (RFC 6749 3.2); repeated ones are errors, except
// resource (RFC 8707 2).

import { AppError } from "../domain/errors.ts";
import {
  type ClientCredentials,
  invalidClient,
  invalidRequest,
  OAuthError,
} from "../domain/oauth/rules.ts";
import { allOf, collectFields, type FormFields, parseForm } from "../lib/urlencoded.ts";
import { type HttpRequest, JSON_TYPE } from "./message.ts";
import { BODY_BYTES, checkMediaType, decodeUtf8, parseJson, parseMediaType } from "./validation.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";

export interface OAuthRequest {
  readonly fields: ReadonlyMap<string, string>;
  /** Resources requested for the tokens (RFC 8707). */
  readonly resources: readonly string[];
  readonly credentials: ClientCredentials;
}

/** Finds the credentials in the request; domain/oauth verifies them. */
export async function readOAuthRequest(request: HttpRequest): Promise<OAuthRequest | OAuthError> {
  const body = await readFields(request);
  if (body instanceof OAuthError) return body;
  if ([...body.duplicates.keys()].some((name) => name !== "resource"))
    return invalidRequest("A parameter was sent more than once.");
  const [fields, resources] = [body.values, allOf(body, "resource")];
  const basic = parseBasicCredentials(request.header("authorization"));
  if (basic instanceof OAuthError) return basic;
  const [id, secret] = [fields.get("client_id"), fields.get("client_secret")];
  if (basic === undefined) return { fields, resources, credentials: { id, secret } };
  if (secret !== undefined)
    return invalidRequest(
      "The client_secret was sent twice: in the Authorization header and in the body.",
    );
  if (id !== undefined && id !== basic.id)
    return invalidRequest("The client_id in the body is not the one in the Authorization header.");
  return { fields, resources, credentials: basic };
}

/** The specification shows JSON; RFC 6749 and every client library use a form. */
async function readFields(request: HttpRequest): Promise<FormFields | OAuthError> {
  const [type] = parseMediaType(request);
  if (type === JSON_TYPE ? checkMediaType(request) : type !== FORM_TYPE)
    return invalidRequest(
      `The Content-Type must be ${JSON_TYPE} or ${FORM_TYPE}, in UTF-8, without a Content-Encoding.`,
    );
  const bytes = await request.readBody(BODY_BYTES);
  if (bytes instanceof AppError)
    return invalidRequest(`The body is larger than ${BODY_BYTES} bytes, or was cut short.`);
  if (type === JSON_TYPE) return parseJsonFields(bytes);
  const text = decodeUtf8(bytes);
  return text instanceof AppError
    ? invalidRequest("The body is not valid UTF-8.")
    : parseForm(text);
}

/** An array of resources equals a repeated form parameter. */
function parseJsonFields(bytes: Buffer): FormFields | OAuthError {
  const value = parseJson(bytes);
  if (
    value instanceof AppError ||
    typeof value !== "object" ||
    value === null ||
    Array.isArray(value)
  )
    return invalidRequest("The body must be a JSON object.");
  const texts: (readonly [name: string, text: string])[] = [];
  for (const [name, member] of Object.entries(value)) {
    const items: readonly unknown[] = name === "resource" ? [member].flat() : [member];
    if (items.every((item) => typeof item === "string"))
      texts.push(...items.map((text) => [name, text] as const));
    else if (PARAMETERS.has(name) && member !== null)
      return invalidRequest(`The member ${name} must be a string.`);
  }
  return collectFields(texts);
}

/** Members that must be strings; another type is an error. All other members are ignored. */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...["grant_type", "client_id", "client_secret", "code", "redirect_uri", "code_verifier"],
  ...["refresh_token", "scope", "token", "token_type_hint", "resource"],
]);

/** RFC 6749 2.3.1: user name and password of RFC 7617, each form-encoded before they are joined. */
function parseBasicCredentials(
  headers: readonly string[],
): ClientCredentials | OAuthError | undefined {
  const [only] = headers;
  if (only === undefined) return undefined;
  const [, encoded] = /^basic +([a-z0-9+/]+={0,2})$/i.exec(only) ?? [];
  if (headers.length > 1 || encoded === undefined)
    return invalidClient(
      "The client credentials are not readable: one Authorization header with Basic is expected.",
    );
  const [, user, password] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString()) ?? [];
  const [id, secret] = [decodeFormComponent(user ?? ""), decodeFormComponent(password ?? "")];
  return id && secret !== undefined && password !== undefined
    ? { id, secret: secret === "" ? undefined : secret }
    : invalidClient(
        "The client credentials are not readable: client_id:client_secret is expected, form-encoded.",
      );
}

/** Decodes one form-encoded value; returns undefined if it is malformed. */
export function decodeFormComponent(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined; // a stray % or bytes that are not UTF-8
  }
}
