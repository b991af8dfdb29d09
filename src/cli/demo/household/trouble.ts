/** Failures: a missing tool, an error with a remedy, a task that the agent cancels. */
import { PRETENDED, type Scenario, together } from "../scenario.ts";

export const unknownTool: Scenario = {
  name: "unknown-tool",
  about: "A tool that does not exist: the call fails, and so does the session.",
  opening: {
    en: "Looking for that tool.",
    es: "Buscando esa herramienta.",
    fr: "Je cherche cet outil.",
    ar: "أبحث عن هذه الأداة.",
    ja: "その道具を探しています。",
  },
  examples: {
    en: "Call a tool that does not exist",
    es: "Usa una herramienta que no existe",
    fr: "Appelle un outil qui n'existe pas",
    ar: "استخدم أداة غير موجودة",
    ja: "存在しない道具を使って",
  },
  keywords: {
    en: "tool exist unknown missing",
    es: "herramienta existe desconocida",
    fr: "outil existe inconnu",
    ar: "اداه غير موجوده",
    ja: "存在しない 道具",
  },
  async play(context) {
    const { session } = context;
    await session
      .tool(
        {
          tool: "no_such_tool",
          summary: {
            en: "Calling a tool I was told about.",
            es: "Llamando a una herramienta que me han nombrado.",
            fr: "J'appelle un outil dont on m'a parlé.",
            ar: "أستدعي أداة ذُكرت لي.",
            ja: "言われた道具を呼び出しています。",
          },
          failed: {
            en: "There is no such tool.",
            es: "Esa herramienta no existe.",
            fr: "Cet outil n'existe pas.",
            ar: "لا توجد أداة كهذه.",
            ja: "そのような道具はありません。",
          },
        },
        async () => {
          await context.wait(500);
          throw new Error("no_such_tool");
        },
      )
      .catch((error: unknown) => {
        if (session.ended) throw error;
      });
    await session.fail({
      summary: {
        en: "I could not do this: the tool does not exist.",
        es: "No he podido hacerlo: la herramienta no existe.",
        fr: "Je n'ai pas pu le faire : l'outil n'existe pas.",
        ar: "لم أستطع فعل ذلك: الأداة غير موجودة.",
        ja: "その道具がないため、できませんでした。",
      },
      category: "permanent",
      code: "TOOL_NOT_FOUND",
      recoverable: false,
      remediation_hint: {
        en: 'Ask for something else. "What can you do?" tells you what there is.',
        es: "Pide otra cosa. «¿Qué sabes hacer?» te dice lo que hay.",
        fr: "Demandez autre chose. « Que sais-tu faire ? » vous dit ce qu'il y a.",
        ar: "اطلب شيئًا آخر. السؤال «ماذا يمكنك أن تفعل؟» يخبرك بما هو متاح.",
        ja: "ほかのことを頼んでください。「何ができますか」で一覧が聞けます。",
      },
    });
  },
};

export const printer: Scenario = {
  name: "error",
  about: "An error that a person can fix, with a hint.",
  opening: {
    en: "Printing a letter.",
    es: "Imprimiendo una carta.",
    fr: "J'imprime une lettre.",
    ar: "أطبع رسالة.",
    ja: "手紙を印刷しています。",
  },
  tools: ["print"],
  examples: {
    en: "Print the letter",
    es: "Imprime la carta",
    fr: "Imprime la lettre",
    ar: "اطبع الرسالة",
    ja: "手紙を印刷して",
  },
  keywords: {
    en: "print printer letter error fail trigger deliberate",
    es: "imprime imprimir carta error falla",
    fr: "imprime imprimer lettre erreur panne",
    ar: "اطبع طابعه رساله خطا",
    ja: "印刷 手紙 エラー 失敗",
  },
  async play(context) {
    const { session } = context;
    await session
      .tool(
        {
          tool: "print",
          summary: {
            en: "Sending the letter to the printer.",
            es: "Enviando la carta a la impresora.",
            fr: "J'envoie la lettre à l'imprimante.",
            ar: "أرسل الرسالة إلى الطابعة.",
            ja: "プリンターに送っています。",
          },
          failed: {
            en: "The printer has no paper.",
            es: "La impresora no tiene papel.",
            fr: "L'imprimante n'a plus de papier.",
            ar: "لا يوجد ورق في الطابعة.",
            ja: "プリンターに紙がありません。",
          },
        },
        async () => {
          await context.wait(1_000);
          throw new Error("out of paper");
        },
      )
      .catch((error: unknown) => {
        if (session.ended) throw error;
      });
    await session.fail({
      summary: {
        en: "The letter was not printed.",
        es: "La carta no se ha impreso.",
        fr: "La lettre n'a pas été imprimée.",
        ar: "لم تُطبع الرسالة.",
        ja: "手紙は印刷されませんでした。",
      },
      category: "requires_user",
      code: "OUT_OF_PAPER",
      recoverable: true,
      remediation_hint: {
        en: "Put paper into the printer and ask again. In this demo it never has any.",
        es: "Pon papel en la impresora y vuelve a pedirlo. En esta demostración nunca hay.",
        fr: "Mettez du papier et redemandez. Dans cette démonstration, il n'y en a jamais.",
        ar: "ضع ورقًا في الطابعة واطلب مرة أخرى. في هذا العرض لا يوجد ورق أبدًا.",
        ja: "紙を入れてもう一度頼んでください。このデモではいつも紙切れです。",
      },
    });
  },
};

export const calledOff: Scenario = {
  name: "cancel",
  about: "The agent starts a task and cancels it itself.",
  opening: {
    en: "Ordering flowers.",
    es: "Encargando flores.",
    fr: "Je commande des fleurs.",
    ar: "أطلب زهورًا.",
    ja: "花を注文しています。",
  },
  examples: {
    en: "Order flowers",
    es: "Encarga flores",
    fr: "Commande des fleurs",
    ar: "اطلب زهورا",
    ja: "花を注文して",
  },
  keywords: {
    en: "order flowers cancel stop",
    es: "encarga flores cancela para",
    fr: "commande fleurs annule arrete",
    ar: "زهور زهورا الغ اوقف",
    ja: "花を 注文 中止 やめて",
  },
  async play(context) {
    const { session } = context;
    await session.progress({ step: 1, total_steps: 3 });
    await context.wait(1_000);
    await session.cancel({
      by: "producer",
      reason: "shop_closed",
      summary: together(
        {
          en: "The shop is closed, so I stopped. Nothing was ordered.",
          es: "La tienda está cerrada, así que lo he dejado. No se ha encargado nada.",
          fr: "Le magasin est fermé, j'ai donc arrêté. Rien n'a été commandé.",
          ar: "المتجر مغلق، لذلك توقفت. لم يُطلب شيء.",
          ja: "店が閉まっているので中止しました。何も注文していません。",
        },
        PRETENDED,
      ),
    });
  },
};
