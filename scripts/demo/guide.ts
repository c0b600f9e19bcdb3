// Walks and tells: each step sends a request, prints it with its answer and the part of the specification that it shows,
// and holds the answer against what it must be.
import assert from "node:assert/strict";
import { styleText } from "node:util";
import { Client, type Members } from "../../test/support/client.ts";

const WIDTH = 400;

export class Guide {
  readonly #api: Client;
  steps = 0;

  constructor(baseUrl: string, key: string | null) {
    this.#api = new Client({ baseUrl, key });
  }

  chapter(title: string): void {
    print(`\n${styleText("bold", title)}`);
  }

  /** Something that is seen elsewhere than in an answer. */
  seen(shows: string, what: string, holds: boolean): void {
    this.steps += 1;
    print(`  ${styleText("cyan", shows)}\n    ${what}`);
    assert.ok(holds, `${shows}: ${what}`);
  }

  /** Answers the answer's body, which must have these members; `key` is the credential, where it is another. */
  async step(shows: string, request: string, status: number, must: Members = {}, body?: object, key = this.#api.key) {
    const [method = "GET", path = "/"] = request.split(" ");
    const api = /^\/(oauth|v2)/.test(path) ? this.#api.root : this.#api;
    const sent = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const { status: got, headers, text } = await api.as(key).send(method, path, sent);
    const asked = `${styleText("bold", request)} ${shortened(sent?.body ?? "")}`;
    const answered = `${styleText(status < 300 ? "green" : "yellow", String(got))} ${shortened(text)}`;
    this.seen(shows, `${asked}\n    ${answered}`, got === status);
    const found: Members = text === "" ? {} : JSON.parse(text);
    for (const [name, value] of Object.entries(must)) assert.deepEqual(found[name], value, `${shows}: ${name}`);
    return { body: found, headers };
  }

  close(): void {
    this.#api.close();
  }
}

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

const shortened = (text: string): string => (text.length > WIDTH ? `${text.slice(0, WIDTH)} …` : text);
