/** Mail: irreversible once sent, so it is read out first. */
import { addressIn, nameIn, PRETENDED, PRETENDS, type Scenario, together, type Words } from "../scenario.ts";

const SUBJECT: Words = {
  en: "Greetings from the demo",
  es: "Saludos de la demostración",
  fr: "Bonjour de la démonstration",
  ar: "تحية من العرض التجريبي",
  ja: "デモからのあいさつ",
};

export const mail: Scenario = {
  name: "mail",
  about: "Sending an email: medium risk, cannot be undone, the subject can be changed.",
  opening: {
    en: "Writing an email.",
    es: "Escribiendo un correo.",
    fr: "J'écris un courriel.",
    ar: "أكتب رسالة بريد.",
    ja: "メールを書いています。",
  },
  tools: ["send_email"],
  examples: {
    en: "Send an email",
    es: "Envía un correo",
    fr: "Envoie un courriel",
    ar: "أرسل بريدا",
    ja: "メールを送って",
  },
  keywords: {
    en: "email mail send write letter message",
    es: "correo envia enviar escribe carta mensaje",
    fr: "courriel mail envoie envoyer ecris lettre message",
    ar: "بريد ارسل رساله اكتب",
    ja: "メール 送って 手紙",
  },
  async play(context) {
    const { session, request } = context;
    const to = addressIn(request) ?? `${(nameIn(request) ?? "maria").toLowerCase()}@example.com`;
    await session.state("thinking", {
      en: "Drafting a short greeting.",
      es: "Redactando un saludo breve.",
      fr: "Je rédige un court message.",
      ar: "أكتب تحية قصيرة.",
      ja: "短いあいさつを書いています。",
    });
    await context.wait(700);
    const sent = await session.tool(
      {
        tool: "send_email",
        summary: {
          en: "Sending the email.",
          es: "Enviando el correo.",
          fr: "J'envoie le courriel.",
          ar: "أرسل البريد.",
          ja: "メールを送信しています。",
        },
        risk: "medium",
        irreversible: true,
        params: { to, subject: SUBJECT[context.language] },
        modifiable: ["subject"],
        action: ({ to: whom, subject }) => ({
          en: `Send an email to ${whom} with the subject "${subject}".`,
          es: `Enviar un correo a ${whom} con el asunto «${subject}».`,
          fr: `Envoyer un courriel à ${whom} avec l'objet « ${subject} ».`,
          ar: `إرسال بريد إلى ${whom} بالموضوع «${subject}».`,
          ja: `${whom}に件名「${subject}」のメールを送ります。`,
        }),
        consequence: together(
          {
            en: "An email that has been sent cannot be called back.",
            es: "Un correo enviado no se puede recuperar.",
            fr: "Un courriel envoyé ne peut pas être rappelé.",
            ar: "لا يمكن استرجاع بريد بعد إرساله.",
            ja: "送ったメールは取り消せません。",
          },
          PRETENDS,
        ),
        labels: {
          to: { en: "To", es: "Para", fr: "À", ar: "إلى", ja: "宛先" },
          subject: { en: "Subject", es: "Asunto", fr: "Objet", ar: "الموضوع", ja: "件名" },
        },
      },
      () => context.wait(900),
    );
    if (!sent.ran) return context.refused(sent.summary);
    await context.say({
      en: `I pretended to send the email to ${to}.`,
      es: `He simulado enviar el correo a ${to}.`,
      fr: `J'ai fait semblant d'envoyer le courriel à ${to}.`,
      ar: `تظاهرت بإرسال البريد إلى ${to}.`,
      ja: `${to}にメールを送ったことにしました。`,
    });
    return PRETENDED;
  },
};
