// Two servers on one host in one browser profile: browsers send a host's cookies to all its ports.
import { startService } from "../../src/index.ts";
import { inBrowser, press, sees } from "../support/chromium.ts";

inBrowser(
  "two servers on one host do not sign each other's user out",
  async ({ context, page, authUrl, hosts }) => {
    await using other = await startService();
    hosts.add(new URL(other.authUrl).host);
    const second = await context.newPage();
    await second.goto(`${other.authUrl}/dashboard`);
    await press(second, "Continue as Owner");
    await second.waitForURL(`${other.authUrl}/dashboard`);
    for (const [tab, url] of [
      [page, authUrl],
      [second, other.authUrl],
    ] as const) {
      await tab.goto(`${url}/dashboard/apps`);
      await sees(tab, "owner@example.com");
      await tab.waitForURL(`${url}/dashboard/apps`);
    }
    await press(second, "Sign out");
    await page.reload();
    await sees(page, "owner@example.com");
  },
);
