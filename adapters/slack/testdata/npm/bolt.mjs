// A small bot on Bolt, unchanged from its registry: it says what it understood, one line of JSON each, and answers like any bot would.
import bolt from "@slack/bolt";

const { App, LogLevel, SocketModeReceiver, HTTPReceiver } = bolt;
const env = process.env;
const say = (o) => console.log(JSON.stringify(o));
const clientOptions = { slackApiUrl: env.API_URL, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true };
const socket = env.MODE === "socket";

const receiver = socket
  ? new SocketModeReceiver({ appToken: env.APP_TOKEN, installerOptions: { clientOptions }, logLevel: LogLevel.ERROR, pingPongLoggingEnabled: false, clientOptions })
  : new HTTPReceiver({ signingSecret: env.SIGNING_SECRET, logLevel: LogLevel.ERROR });
const app = new App({ token: env.BOT_TOKEN, receiver, clientOptions, logLevel: LogLevel.ERROR });

app.error(async (e) => say({ saw: "error", text: String(e.message) }));

const button = (text, id) => ({ type: "button", text: { type: "plain_text", text }, action_id: id, value: "v-" + id });

app.event("app_mention", async ({ event, client }) => {
  say({ saw: "mention", text: event.text, ts: event.ts, edited: !!event.edited });
  if (event.edited) return;
  const r = await client.chat.postMessage({
    channel: event.channel,
    thread_ts: event.ts,
    text: "May I?",
    blocks: [
      { type: "markdown", text: "**May I?**" },
      { type: "actions", elements: [button("Approve", "yes")] },
      { type: "actions", elements: [button("Deny", "no")] },
    ],
    metadata: { event_type: "test", event_payload: { marker: "m-1" } },
  });
  const list = await client.conversations.replies({ channel: event.channel, ts: event.ts, include_all_metadata: true });
  say({
    saw: "posted", ts: r.ts, replies: list.messages.length,
    metadata: list.messages.find((m) => m.ts === r.ts)?.metadata?.event_payload?.marker,
  });
});

app.message(async ({ message }) => {
  say({
    saw: "message", kind: message.channel_type, subtype: message.subtype ?? "", text: message.text ?? message.message?.text ?? "", user: message.user ?? "",
    files: message.files?.length ?? 0, bot: !!message.bot_id, team: message.user_team ?? "",
  });
});

app.action("yes", async ({ ack, action, body, client, respond }) => {
  await ack();
  say({ saw: "press", value: action.value, by: body.user.id, message: body.container.message_ts, thread: body.container.thread_ts });
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: "approved", blocks: [] });
  await respond({ text: "noted", response_type: "ephemeral", replace_original: false });
});

app.command("/paragents", async ({ ack, command, respond, client }) => {
  await ack();
  say({ saw: "command", text: command.text, channel: command.channel_name, trigger: command.trigger_id !== "" });
  if (command.text === "limits") return limits(client, command.channel_id);
  if (command.text === "file") {
    await client.filesUploadV2({ channel_id: command.channel_id, filename: "a.txt", file: Buffer.from("abc é"), initial_comment: "read it" });
    return say({ saw: "uploaded" });
  }
  await respond("listed");
});

app.shortcut("ask", async ({ ack, shortcut }) => {
  await ack();
  say({ saw: "shortcut", text: shortcut.message.text, by: shortcut.user.id });
});

async function limits(client, channel) {
  const post = (extra) => client.chat.postMessage({ channel, text: "x", ...extra });
  const markdown = (text) => ({ blocks: [{ type: "markdown", text }] });
  const section = (text) => ({ type: "section", text: { type: "mrkdwn", text } });
  const tries = {
    "text": () => post({ text: "x".repeat(4001) }),
    "section": () => post({ blocks: [section("x".repeat(3001))] }),
    "blocks": () => post({ blocks: Array.from({ length: 51 }, () => section("x")) }),
    "markdown": () => post(markdown("x".repeat(12001))),
    "label": () => post({ blocks: [{ type: "actions", elements: [button("x".repeat(76), "a")] }] }),
    "no channel": () => client.chat.postMessage({ channel: "C0NOWHERE", text: "x" }),
    "no message": () => client.chat.update({ channel, ts: "1700000000.000100", text: "x" }),
    "no text": () => client.chat.postMessage({ channel, text: " " }),
    "rate": () => client.reactions.add({ channel, name: "eyes", timestamp: "1700000000.000100" }),
  };
  for (const [name, run] of Object.entries(tries)) {
    try {
      await run();
      say({ saw: "refused", name, error: "none" });
    } catch (e) {
      say({ saw: "refused", name, error: e.data?.error ?? e.code, after: e.retryAfter ?? 0 });
    }
  }
}

if (socket) {
  await app.start();
} else {
  await app.start({ port: 0, host: "127.0.0.1" });
}
say({ saw: "start", port: socket ? 0 : receiver.server.address().port });
process.stdin.on("end", async () => {
  await app.stop();
  say({ saw: "end" });
  process.exit(0);
});
process.stdin.resume();
