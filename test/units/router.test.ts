// The route table: behaviour that no request can show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RouteTable } from "../../src/http/router.ts";

test("a duplicate route is rejected when the table is built", () => {
  const [read, change] = [
    { method: "GET", path: "/a/{id}" } as const,
    { method: "PATCH", path: "/a/{id}" } as const,
  ];
  assert.equal(new RouteTable([read, change]).find("/a/1")?.methods.size, 2);
  assert.throws(() => new RouteTable([read, change, { ...read }]), /\/a\/\{id\}/);
});
