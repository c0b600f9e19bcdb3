// Walks and tells: each step names the clause or the choice that it shows (`npm run clause ID` runs its test), sends a
// request, prints of the answer what is under discussion, and holds it against what it must be.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { Client, type Members } from "../../test/support/client.ts";

const LONGEST = 60;

export class Guide implements AsyncDisposable {
  steps = 0;
  readonly #api: Client;
  readonly #enter: AsyncIterator<string> | undefined;

  /** `stops`: each step waits for Enter. */
  constructor(baseUrl: string, key: string | null, stops: boolean) {
    this.#api = new Client({ baseUrl, key });
    this.#enter = stops ? createInterface(process.stdin)[Symbol.asyncIterator]() : undefined;
  }

  /** Something that is seen elsewhere than in an answer. */
  async seen(id: string, says: string, what: readonly string[], holds: boolean): Promise<void> {
    this.steps += 1;
    print([`  ${styleText("cyan", id)} ${says}`, ...what].join("\n    "));
    assert.ok(holds, `${id}: ${what.join(" ")}`);
    await this.#enter?.next();
  }

  /** Shown of the answer are these members, and they must be so; `key` is the credential, where it is another. */
  async step(
    id: string,
    says: string,
    at: string,
    status: number,
    shows: Members = {},
    body?: object,
    key = this.#api.key,
  ) {
    const [method = "", path = ""] = at.split(" ");
    const answer = await this.#api.root.as(key).call(method, path, body);
    const found: Members = status === 204 ? {} : answer.json;
    const shown = Object.keys(shows).map((name) => `${name}: ${shortened(JSON.stringify(found[name]))}`);
    const sent = JSON.stringify(body, (_, value) => (typeof value === "string" ? shortened(value) : value));
    const said = styleText(answer.status < 300 ? "green" : "yellow", String(answer.status));
    const lines = [`${styleText("bold", at)} ${sent ?? ""}`, `${said} ${shown.join(", ")}`];
    await this.seen(id, says, lines, answer.status === status);
    for (const [name, value] of Object.entries(shows))
      if (value instanceof RegExp) assert.match(String(found[name]), value, `${id}: ${name}`);
      else assert.deepEqual(found[name], value, `${id}: ${name}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api.close();
    await this.#enter?.return?.();
  }
}

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
