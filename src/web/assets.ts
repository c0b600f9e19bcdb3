// The few files that pages load. An address carries a hash of its content, so a browser may keep it for good; the one that
// browsers ask for by themselves cannot.
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

const FOR_GOOD = "public, max-age=31536000, immutable";
const FOR_A_DAY = "public, max-age=86400";

const answerOf = (path: string, { type, text }: Asset): Reply => ({
  status: 200,
  headers: {
    "content-type": type,
    "cache-control": path.startsWith("/assets/") ? FOR_GOOD : FOR_A_DAY,
    "x-content-type-options": "nosniff",
  },
  body: text,
});

export const assets = Array.from(ASSETS, ([path, asset]) => ({
  method: "GET" as const,
  path,
  answer: async () => answerOf(path, asset),
}));
