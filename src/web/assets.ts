// The few files that pages load. Each address carries a hash of its content, so a browser may keep it for good.
import { createHash } from "node:crypto";
import type { Reply } from "../http/call.ts";
import { SCRIPT } from "./script.ts";
import { ICON, STYLE } from "./style.ts";

interface Asset {
  readonly type: string;
  readonly text: string;
}

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ["/assets/style.css", { type: "text/css; charset=utf-8", text: STYLE }],
  ["/assets/script.js", { type: "text/javascript; charset=utf-8", text: SCRIPT }],
  ["/assets/icon.svg", { type: "image/svg+xml", text: ICON }],
  ["/favicon.ico", { type: "image/svg+xml", text: ICON }],
]);

const versioned = (path: string, text: string): string =>
  `${path}?v=${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;

export const STYLE_PATH = versioned("/assets/style.css", STYLE);
export const SCRIPT_PATH = versioned("/assets/script.js", SCRIPT);
export const ICON_PATH = versioned("/assets/icon.svg", ICON);

const YEAR_S = 31_536_000;

const answerOf = ({ type, text }: Asset): Reply => ({
  status: 200,
  headers: {
    "content-type": type,
    "cache-control": `public, max-age=${YEAR_S}, immutable`,
    "x-content-type-options": "nosniff",
  },
  body: text,
});

export const assets = Array.from(ASSETS, ([path, asset]) => ({
  method: "GET" as const,
  path,
  answer: async () => answerOf(asset),
}));
