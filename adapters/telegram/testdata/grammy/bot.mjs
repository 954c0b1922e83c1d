// A bot on grammY, unchanged, that tells what it meets: one JSON object a line. The Go test plays the people.
import { Bot, GrammyError, InlineKeyboard, InputFile } from "grammy";

const { API_ROOT, TOKEN } = process.env;
const bot = new Bot(TOKEN, { client: { apiRoot: API_ROOT } });
const tell = (saw, more = {}) => console.log(JSON.stringify({ saw, ...more }));

// refused makes a call that has to fail, and tells how.
async function refused(name, call) {
  try {
    await call();
    tell("no error", { name });
  } catch (e) {
    if (!(e instanceof GrammyError)) throw e;
    tell("error", { name, code: e.error_code, text: e.description, after: e.parameters.retry_after, moved: e.parameters.migrate_to_chat_id });
  }
}

bot.command("start", async (ctx) => {
  const keyboard = new InlineKeyboard().text("Approve", "yes-1").text("Deny", "no-1");
  const sent = await ctx.reply("<b>May</b> I &amp; you?", {
    parse_mode: "HTML",
    reply_markup: keyboard,
    reply_parameters: { message_id: ctx.msg.message_id },
    link_preview_options: { is_disabled: true },
  });
  tell("command", { match: ctx.match, text: sent.text, entities: sent.entities, id: sent.message_id });
});
bot.command("limits", async (ctx) => {
  const chat = ctx.chat.id;
  await refused("entities", () => ctx.reply("Ann <ann@example.test>", { parse_mode: "HTML" }));
  await refused("long", () => ctx.reply("x".repeat(4097)));
  await refused("button", () => ctx.reply("x", { reply_markup: new InlineKeyboard().text("x", "y".repeat(65)) }));
  await refused("empty", () => ctx.reply(" "));
  await refused("general", () => ctx.reply("x", { message_thread_id: 1 }));
  await refused("no message", () => bot.api.editMessageText(chat, 999999, "x"));
  await refused("no chat", () => bot.api.sendMessage(31337, "x"));
  const sent = await ctx.reply("same");
  await refused("same", () => bot.api.editMessageText(chat, sent.message_id, "same"));
  await refused("old press", () => bot.api.answerCallbackQuery("1", { text: "late" }));
  await refused("reaction", () => bot.api.setMessageReaction(chat, sent.message_id, [{ type: "emoji", emoji: "🧨" }]));
  await refused("flood", () => bot.api.sendMessage(Number(ctx.match), "x"));
  await bot.api.setMessageReaction(chat, sent.message_id, [{ type: "emoji", emoji: "👀" }]);
  await bot.api.sendChatAction(chat, "typing");
  await bot.api.setMyCommands([{ command: "start", description: "begin" }], { scope: { type: "all_private_chats" } });
  await bot.api.deleteMessage(chat, sent.message_id);
  await refused("deleted", () => bot.api.deleteMessage(chat, sent.message_id));
  tell("limits");
});
bot.command("topic", async (ctx) => {
  const topic = await ctx.createForumTopic("a session");
  await ctx.reply("in here", { message_thread_id: topic.message_thread_id });
  tell("topic", { thread: topic.message_thread_id, name: topic.name });
});
bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery({ text: "noted" });
  await ctx.editMessageText("<i>approved</i>", { parse_mode: "HTML" });
  tell("press", { data: ctx.callbackQuery.data, text: ctx.callbackQuery.message.text, by: ctx.from.id });
});
bot.on("message:document", async (ctx) => {
  const file = await ctx.getFile();
  const body = await fetch(`${API_ROOT}/file/bot${TOKEN}/${file.file_path}`);
  const text = await body.text();
  await ctx.replyWithDocument(new InputFile(Buffer.from(text.toUpperCase()), "upper.txt"), { caption: ctx.msg.caption });
  tell("file", { text, name: ctx.msg.document.file_name, size: file.file_size });
});
bot.on("message:text", (ctx) => tell("text", {
  text: ctx.msg.text, chat: ctx.chat.type, topic: ctx.msg.is_topic_message ?? false,
  reply: ctx.msg.reply_to_message?.text, entities: ctx.entities().map((e) => [e.type, e.text]),
}));
bot.on("edited_message:text", (ctx) => tell("edit", { text: ctx.msg.text, dated: ctx.msg.edit_date > 0 }));
bot.on("my_chat_member", (ctx) => tell("member", { old: ctx.myChatMember.old_chat_member.status, new: ctx.myChatMember.new_chat_member.status }));
bot.catch((e) => {
  tell("failure", { text: String(e.error) });
  process.exitCode = 1;
  return bot.stop();
});
process.stdin.on("data", () => bot.stop()); // any word ends the bot
process.stdin.on("end", () => bot.stop());
await bot.start({ timeout: 5, onStart: (me) => tell("start", { username: me.username, reads: me.can_read_all_group_messages }) });
tell("end");
process.exit();
