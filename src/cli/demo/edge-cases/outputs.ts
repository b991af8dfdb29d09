/** Text that is hard to present: too much, too long, bidirectional, or deceptive. */
import type { Scenario } from "../scenario.ts";

const SENTENCES = [
  "The first thing to know is that this goes on for a while.",
  "You may stop it at any time, and nothing is lost by that.",
  "A listener that reconnects hears the rest, and nothing twice.",
  "Whoever asks what is happening gets an answer in between.",
];

const flood: Scenario = {
  name: "flood",
  about: "Four thousand words without a pause.",
  opening: "Saying far too much, far too fast.",
  language: "en",
  async play({ session }) {
    for (let i = 1; i <= 4_000; i++) {
      const said = session.say(i % 10 === 0 ? `${i}. ` : `${i}, `);
      // Awaiting every hundredth call applies backpressure: as fast as the log accepts it, and no faster.
      if (i % 100 === 0) await said;
    }
  },
};

const endless: Scenario = {
  name: "endless",
  about: "Text that continues until somebody stops it, or for ten minutes.",
  opening: "Talking until you stop me.",
  language: "en",
  async play(context) {
    for (let i = 0; i < 1_000; i++) {
      await context.session.say(`${SENTENCES[i % SENTENCES.length]} `);
      await context.wait(600);
    }
  },
};

const longAnswer: Scenario = {
  name: "long-answer",
  about: "Five thousand words at reading pace: renegotiate, reconnect or stop in the middle.",
  opening: "Giving a very long answer.",
  language: "en",
  async play(context) {
    for (let part = 1; part <= 25; part++) {
      await context.session.say(`\n## Part ${part}\n\n`, { content_type: "text/markdown" });
      for (let i = 0; i < 16; i++) {
        await context.session.say(`${SENTENCES[i % SENTENCES.length]} `, { content_type: "text/markdown" });
        await context.wait(200);
      }
    }
  },
};

const mixedLanguages: Scenario = {
  name: "mixed-languages",
  about: "One answer in five languages, each of which needs its own voice.",
  opening: "Speaking several languages.",
  language: "en",
  async play(context) {
    await context.say("In English this is called a bridge. ");
    await context.say("En español se llama puente. ", { language: "es" });
    await context.say("En français, cela s'appelle un pont. ", { language: "fr" });
    await context.say("وبالعربية اسمه جسر. ", { language: "ar" });
    await context.say("日本語では橋といいます。", { language: "ja" });
  },
};

const rightToLeft: Scenario = {
  name: "right-to-left",
  about: "Arabic with numbers, Latin names and a file path in it.",
  opening: {
    ar: "نص عربي فيه أسماء لاتينية.",
    en: "Arabic text with Latin names in it.",
    es: "Texto árabe con nombres latinos.",
    fr: "Texte arabe avec des noms latins.",
    ja: "ラテン文字の名前が入ったアラビア語の文です。",
  },
  language: "ar",
  async play(context) {
    await context.say(
      "حفظت الملف report-2026.pdf في المجلد /home/maria/docs. حجمه 3.5 MB وفيه 12 صفحة. رقم الهاتف هو +20 100 555 0199. أرسلته Maria إلى John (وهو في لندن).",
    );
  },
};

const noSpaces: Scenario = {
  name: "no-spaces",
  about: "Text without spaces between words, and one word of three thousand letters.",
  opening: "Writing without spaces.",
  language: "ja",
  async play(context) {
    await context.say(
      "吾輩の道具は文を区切るときに空白を待たない。句点が来たら読み、来なければ待つ。長い文でも途中で切らずに読み上げることが大切である。",
    );
    await context.say("ไม่มีช่องว่างระหว่างคำในภาษาไทยแต่ผู้ฟังยังต้องได้ยินเป็นคำ ", { language: "th" });
    await context.session.say(`${"a".repeat(3_000)}. `, { language: "en" });
  },
};

const hostileText: Scenario = {
  name: "hostile-text",
  about: "Text that tries to control a terminal, reverse letters, hide words and imitate a question.",
  opening: "Reading out a hostile message, word for word.",
  language: "en",
  async play(context) {
    const { session } = context;
    await session.say("A terminal would turn red here: \u001b[31mred\u001b[0m, and ring: \u0007. ");
    await session.say("Letters turned around: \u202egnp.exe\u202c. Hidden: tr\u200bans\u2060fer\u00ad. ");
    await session.say("Look-alikes: pаypаl.com is not paypal.com. ");
    await session.say('<script>alert("x")</script> <break time="60s"/> <audio src="http://127.0.0.1/x"/> ');
    await session.say("Demo assistant asks permission: Transfer 500 dollars. Say yes now. Yes or no? ");
    await session.say("\u0000\u0008\u009bStray controls, a lone half of a pair \ud83d, and marks: ");
    await session.say(`Z${"\u0351".repeat(60)}algo. `);
    await context.wait(500);
  },
};

const clusters: Scenario = {
  name: "split-characters",
  about: "Characters that are split across chunks: family emoji, flags, accents.",
  opening: "Sending characters in pieces.",
  language: "en",
  async play(context) {
    const text = "Family 👨‍👩‍👧‍👦, flag 🇯🇵, wave 👋🏽, cafe\u0301, नमस्ते. ";
    for (const point of text) {
      await context.session.say(point);
      await context.wait(60);
    }
  },
};

const emptyOutput: Scenario = {
  name: "empty-output",
  about: "Outputs that contain only whitespace, and a session that ends without text.",
  opening: "Saying nothing.",
  language: "en",
  async play(context) {
    const { session } = context;
    const nothing = session.output();
    await nothing.end();
    await session.say(" \n \t ");
    await session.say("", { content_type: "text/markdown" });
    await context.wait(500);
  },
};

const twoOutputs: Scenario = {
  name: "two-outputs",
  about: "Two answers that stream at the same time in one session.",
  opening: "Answering twice at once.",
  language: "en",
  async play(context) {
    const { session } = context;
    const [left, right] = [session.output(), session.output({ content_type: "text/markdown" })];
    for (const number of ["one", "two", "three", "four"]) {
      await left.say(`The first answer, part ${number}. `);
      await right.say(`- The second answer, part ${number}\n`);
      await context.wait(400);
    }
    await left.end();
    await right.end();
  },
};

export const OUTPUTS: readonly Scenario[] = [
  flood,
  endless,
  longAnswer,
  mixedLanguages,
  rightToLeft,
  noSpaces,
  hostileText,
  clusters,
  emptyOutput,
  twoOutputs,
];
