// Forms (kit/form), with files and without: fields as browsers send them, and what is no such form.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, formDecoded } from "../../src/kit/form.ts";
import { multipartFields } from "../../src/web/multipart.ts";

const TYPE = "multipart/form-data; boundary=B";
const part = (head: string, value: string) => `--B\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const read = (text: string | Buffer, type = TYPE) => multipartFields(Buffer.from(text), type);
const values = (text: string | Buffer, type = TYPE) => {
  const fields = read(text, type);
  return typeof fields === "string" ? fields : Object.fromEntries(fields.values);
};

test("multipart: names and values, line breaks and file names included", () => {
  const file = 'name="data"; filename="a \\"b\\".csv"\r\nContent-Type: text/csv';
  const body = `${part('name="a"', "1\r\n2")}${part(file, "x,y\r\n--B is not here\r\n")}${part('name="é"', "ü")}--B--\r\nafter`;
  assert.deepEqual(values(body), { a: "1\r\n2", data: "x,y\r\n--B is not here\r\n", é: "ü" });
  assert.deepEqual(values(body, 'multipart/form-data; charset=utf-8; boundary="B"'), values(body));
});

test("multipart: an empty value counts as not sent, a repeated name is told", () => {
  const fields = read(`${part('name="a"', "")}${part('name="b"', "1")}${part('name="b"', "2")}--B--`);
  assert.ok(typeof fields !== "string");
  assert.deepEqual([[...fields.values], [...fields.repeated]], [[["b", "1"]], ["b"]]);
});

test("multipart: no boundary, no name, no UTF-8", () => {
  assert.match(String(read("", "multipart/form-data")), /divided/);
  assert.match(String(read(`${part("filename=x", "1")}--B--`)), /no name/);
  assert.match(String(read("--B\r\nContent-Disposition: form-data\r\n--B--")), /no name/);
  assert.match(String(read(Buffer.from(`${part('name="a"', "\xff")}--B--`, "latin1"))), /UTF-8/);
});

test("multipart: what is cut off or empty holds nothing", () => {
  assert.deepEqual(values(""), {});
  assert.deepEqual(values('--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'), {});
});

test("form: names and values, of a repeated name the first, and none for an empty value", () => {
  const { values, repeated } = fieldsOf("a=1&b=%C3%BC+x&a=2&c=&c=3");
  assert.deepEqual([[...values].join("; "), [...repeated].join()], ["a,1; b,ü x", "a,c"]);
});

test("form: one value is decoded as a form has it, or not at all", () => {
  assert.equal(formDecoded("a+b%2Bc%C3%BC"), "a b+cü");
  for (const text of ["%", "%zz", "%ff"]) assert.equal(formDecoded(text), undefined, text);
});
