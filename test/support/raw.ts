// A bare TCP connection for requests that no HTTP client would send: malformed, pipelined or incomplete ones. Reads
// whole responses (Content-Length only; the server under test sends no other kind) and reports when the other side
// closes.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Answer, type Client, PATIENCE_MS } from "./client.ts";

export class RawConnection {
  /** Resolves once the server has closed its side; the value is the way it closed. */
  closed: Promise<"end" | "reset">;
  #received = Buffer.alloc(0);
  #over = false;
  #wake: () => void = () => {};

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      for (const event of ["end", "error", "close"])
        socket.once(event, () => {
          this.#over = true;
          this.#wake();
          resolve(event === "error" ? "reset" : "end");
        });
    });
    socket.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
  }

  static async open(address: string) {
    const { hostname, port } = new URL(address);
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port),
      allowHalfOpen: true,
    });
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  write(data: string | Buffer) {
    this.socket.write(data);
    return this;
  }

  /** Reads the next whole response, including an interim one (100). `bodiless`: the request was a HEAD. */
  async answer(bodiless = false) {
    for (;;) {
      const parsed = parse(this.#received, bodiless);
      if (parsed) {
        this.#received = this.#received.subarray(parsed.size);
        return parsed.answer;
      }
      assert.ok(
        !this.#over,
        `closed after ${JSON.stringify(this.#received.toString("latin1").slice(0, 200))}`,
      );
      await within(new Promise<void>((resolve) => (this.#wake = resolve)), "no answer came");
    }
  }

  /** Fails the test unless the server closes the connection soon; returns the way it closed. */
  async untilClosed() {
    const how = await within(this.closed, "the connection stayed open");
    this.socket.destroy();
    return how;
  }
}

/** The server and the credential of a request. */
type Sender = { api: Client };

/** The head of a request with a credential; `lines` are further headers. */
export const head = (line: string, { api }: Sender, ...lines: readonly string[]) =>
  [
    `${line} HTTP/1.1`,
    "host: localhost",
    `authorization: Bearer ${api.key}`,
    ...lines,
    "",
    "",
  ].join("\r\n");

export const post = (own: Sender, ...lines: readonly string[]) =>
  head("POST /v1/apps", own, "content-type: application/json", ...lines);
export const account = (own: Sender, ...lines: readonly string[]) =>
  head("GET /v1/account", own, ...lines);

/** Starts a request that announces so much of a body, and waits until its handling has begun. */
export async function begun(
  address: string,
  own: Sender,
  length: number,
  ...lines: readonly string[]
) {
  const raw = await RawConnection.open(address);
  raw.write(post(own, `content-length: ${length}`, "expect: 100-continue", ...lines));
  (await raw.answer()).is(100, "it has begun");
  return raw;
}

/** Sends `data` on a new connection; returns the only response to it and closes. */
export async function rawAnswer(address: string, data: string | Buffer) {
  const connection = await RawConnection.open(address);
  return connection
    .write(data)
    .answer()
    .finally(() => connection.socket.destroy());
}

const within = <T>(promise: Promise<T>, otherwise: string) =>
  Promise.race([
    promise,
    once(AbortSignal.timeout(PATIENCE_MS), "abort").then(() =>
      assert.fail(`${otherwise} within ${PATIENCE_MS} ms`),
    ),
  ]);

function parse(received: Buffer, bodiless: boolean): { answer: Answer; size: number } | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = received.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
  assert.ok(status >= 100, `no status line: ${first}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*): *(.*)$/.exec(line) ?? [];
    headers[name.toLowerCase()] = value;
  }
  const none = bodiless || status < 200 || status === 204 || status === 304;
  const size = end + 4 + (none ? 0 : Number(headers["content-length"] ?? 0));
  if (received.length < size) return undefined;
  return { answer: new Answer(status, headers, received.subarray(end + 4, size)), size };
}
