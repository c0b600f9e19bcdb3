// How events and deliveries are called wherever they stand: what happened to what, and what became of it.
import type { AppRecord, Attempt, DeliveryStatus, EventRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Html } from "../html.ts";
import { badge, type Tone } from "../parts.ts";
import type { View } from "./view.ts";

/** The event's type and what it is about, by its name where it has one. */
export async function nameOf(view: View, { type, body }: EventRecord): Promise<string> {
  const { object }: { readonly object: Readonly<Record<string, unknown>> } = JSON.parse(body).data;
  const { title, name, app_id, id } = object;
  return `${type} · ${title ?? name ?? (await appName(view, app_id)) ?? id}`;
}

async function appName(view: View, app_id: unknown): Promise<string | undefined> {
  if (typeof app_id !== "string") return undefined;
  const app = await view.ask<AppRecord>("getApp", { params: { app_id } });
  return app instanceof Refusal ? app_id : app.title;
}

const TONES: { readonly [S in DeliveryStatus]: Tone } = {
  pending: "warn",
  succeeded: "good",
  failed: "bad",
  cancelled: "plain",
};
export const statusBadge = (status: DeliveryStatus, text: string = status): Html => badge(text, TONES[status]);

export const countOf = (attempts: readonly Attempt[]): string =>
  attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;
