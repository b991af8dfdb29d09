/** A clarifying question in free text, and a handoff to a person. */
import { PRETENDED, placeIn, type Scenario, together } from "../scenario.ts";

export const weather: Scenario = {
  name: "weather",
  about: "A question in free text, with an assumption if no answer comes.",
  opening: {
    en: "Asking about the weather.",
    es: "Preguntando por el tiempo.",
    fr: "Je m'occupe de la météo.",
    ar: "أسأل عن الطقس.",
    ja: "天気を調べます。",
  },
  tools: ["fetch_weather"],
  examples: {
    en: "Ask me where I am first",
    es: "Pregúntame primero dónde estoy",
    fr: "Demande-moi d'abord où je suis",
    ar: "اسألني أولا أين أنا",
    ja: "まず私がどこにいるか聞いて",
  },
  keywords: {
    en: "weather where location forecast",
    es: "tiempo donde lugar pregunta preguntame",
    fr: "meteo temps lieu demande abord suis",
    ar: "طقس اين موقع اسالني",
    ja: "天気 どこに 場所",
  },
  async play(context) {
    const { session } = context;
    const answer = await context.ask({
      question: {
        en: "Where are you?",
        es: "¿Dónde estás?",
        fr: "Où êtes-vous ?",
        ar: "أين أنت؟",
        ja: "どこにいますか。",
      },
      context: {
        en: "The weather depends on it.",
        es: "El tiempo depende de ello.",
        fr: "La météo en dépend.",
        ar: "يتوقف الطقس على ذلك.",
        ja: "天気は場所によって違います。",
      },
      default: "Lagos",
    });
    const place = placeIn(String(answer ?? "Lagos")).slice(0, 100);
    await session.tool(
      {
        tool: "fetch_weather",
        summary: {
          en: `Looking up the weather for ${place}.`,
          es: `Consultando el tiempo de ${place}.`,
          fr: `Je consulte la météo de ${place}.`,
          ar: `أبحث عن طقس ${place}.`,
          ja: `${place}の天気を調べています。`,
        },
      },
      () => context.wait(900),
    );
    await context.say(
      together(
        {
          en: `In ${place} it is 24 degrees, with light clouds.`,
          es: `En ${place} hay 24 grados y pocas nubes.`,
          fr: `À ${place}, il fait 24 degrés avec quelques nuages.`,
          ar: `في ${place} درجة الحرارة 24 مع غيوم خفيفة.`,
          ja: `${place}は24度で、うす曇りです。`,
        },
        {
          en: "I made that up: this is a demo.",
          es: "Me lo he inventado: esto es una demostración.",
          fr: "Je l'ai inventé : ceci est une démonstration.",
          ar: "هذا من تأليفي، فهذا عرض تجريبي.",
          ja: "これは作り話です。デモだからです。",
        },
      ),
    );
  },
};

export const human: Scenario = {
  name: "human",
  about: "A handoff to a person.",
  opening: {
    en: "Looking for a person to help.",
    es: "Buscando a una persona que ayude.",
    fr: "Je cherche une personne pour aider.",
    ar: "أبحث عن شخص للمساعدة.",
    ja: "担当者を探しています。",
  },
  examples: {
    en: "Escalate to a human",
    es: "Pásame con una persona",
    fr: "Passe-moi une personne",
    ar: "حولني إلى إنسان",
    ja: "人間につないで",
  },
  keywords: {
    en: "escalate human person handoff operator conversation",
    es: "persona humano pasame agente",
    fr: "personne humain passe conseiller",
    ar: "انسان شخص موظف حولني",
    ja: "人間 担当者 オペレーター",
  },
  async play(context) {
    const { session } = context;
    await context.wait(600);
    await session.handoff({
      reason: {
        en: "You asked for a person.",
        es: "Has pedido una persona.",
        fr: "Vous avez demandé une personne.",
        ar: "لقد طلبت شخصًا.",
        ja: "担当者を希望されたためです。",
      },
      target_kind: "human",
      packaged_context: { request: context.request.slice(0, 500) },
      urgency: "low",
    });
    await context.wait(600);
    return together(
      {
        en: "Handed over.",
        es: "Asunto transferido.",
        fr: "L'affaire est transmise.",
        ar: "تمت الإحالة.",
        ja: "引き継ぎました。",
      },
      PRETENDED,
    );
  },
};
