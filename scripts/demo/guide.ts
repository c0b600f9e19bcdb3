// Walks and tells: each step sends a request, prints it with its answer and the part of the specification that it shows,
// and holds the answer against what it must be.
import assert from "node:assert/strict";
import { styleText } from "node:util";
import { trusted } from "../../src/kit/schema.ts";

const WIDTH = 400;

export interface Step {
  /** The part of the specification, and what it shows. */
  readonly shows: string;
  readonly request: string;
  readonly body?: object;
  readonly key?: string | null;
  readonly status: number;
  /** Members that the answer must have. */
  readonly answer?: object;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly [member: string]: unknown };
}

export class Guide {
  readonly #base: string;
  readonly #auth: string;
  readonly #key: string;
  steps = 0;

  constructor(base: string, auth: string, key: string) {
    this.#base = base;
    this.#auth = auth;
    this.#key = key;
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

  async step({ shows, request, body, key = this.#key, status, answer = {} }: Step): Promise<Answer> {
    this.steps += 1;
    const [method = "GET", path = "/"] = request.split(" ");
    const root = path.startsWith("/oauth") || path.startsWith("/v2") ? this.#auth : this.#base;
    const headers = {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body && { "content-type": "application/json" }),
    };
    const sent = await fetch(root + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await sent.text();
    const read = text === "" ? {} : trusted<Answer["body"]>(JSON.parse(text));
    print(`  ${styleText("cyan", shows)}`);
    print(`    ${styleText("bold", request)}${body ? ` ${shortened(JSON.stringify(body))}` : ""}`);
    print(`    ${styleText(sent.ok ? "green" : "yellow", String(sent.status))} ${shortened(text)}`);
    assert.equal(sent.status, status, `${shows}: ${request} answered ${text}`);
    for (const [name, value] of Object.entries(answer)) assert.deepEqual(read[name], value, `${shows}: ${name}`);
    return { status: sent.status, headers: sent.headers, body: read };
  }
}

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

const shortened = (text: string): string => (text.length > WIDTH ? `${text.slice(0, WIDTH)} …` : text);
