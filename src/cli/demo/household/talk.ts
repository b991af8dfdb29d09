/** Text only: a greeting, help, a fact, a paragraph. */
import { type Scenario, together, type Words } from "../scenario.ts";

const I_AM: Words = {
  en: "Hello, I am the Earshot demo: a script that plays a household assistant, so nothing I do is real.",
  es: "Hola, soy la demostración de Earshot: un guion que hace de asistente del hogar, así que nada de lo que hago es real.",
  fr: "Bonjour, je suis la démonstration d'Earshot : un script qui joue un assistant domestique, donc rien de ce que je fais n'est réel.",
  ar: "مرحبًا، أنا عرض Earshot التجريبي: برنامج مكتوب يمثل دور مساعد منزلي، ولا شيء مما أفعله حقيقي.",
  ja: "こんにちは、Earshotのデモです。家庭の助手を演じる台本なので、することはすべて本物ではありません。",
};

const CAN_DO: Words = {
  en: 'Ask me to "transfer 500 dollars to savings", "book a room", "send an email", "delete record 12345", "explain how rainbows form", or "escalate to a human".',
  es: 'Pídeme: "transfiere 500 dólares a mis ahorros", "reserva una sala", "envía un correo", "borra el registro 12345", "explica cómo se forma el arcoíris" o "pásame con una persona".',
  fr: "Demandez-moi : « vire 500 dollars sur mon épargne », « réserve une salle », « envoie un courriel », « supprime la fiche 12345 », « explique comment se forme un arc-en-ciel » ou « passe-moi une personne ».",
  ar: "اطلب مني: «حوّل 500 دولار إلى المدخرات» أو «احجز غرفة» أو «أرسل بريدًا» أو «احذف السجل 12345» أو «اشرح كيف يتكون قوس قزح» أو «حوّلني إلى إنسان».",
  ja: "「貯金に500ドル振り込んで」「会議室を予約して」「メールを送って」「記録12345を削除して」「虹のでき方を説明して」「人間につないで」などと頼んでください。",
};

const BRIEFLY = /\bbrief|\bshort|breve|bref|باختصار|短く/i;

export const hello: Scenario = {
  name: "hello",
  about: "A greeting that says what this is.",
  opening: { en: "Saying hello.", es: "Un saludo.", fr: "Un bonjour.", ar: "تحية.", ja: "あいさつします。" },
  examples: { en: "Hello", es: "Hola", fr: "Bonjour", ar: "مرحبا", ja: "こんにちは" },
  keywords: {
    en: "hello hi hey greetings",
    es: "hola buenas",
    fr: "bonjour salut",
    ar: "مرحبا اهلا السلام سلام",
    ja: "こんにちは おはよう もしもし",
  },
  async play(context) {
    await context.say(BRIEFLY.test(context.request) ? I_AM : together(I_AM, CAN_DO));
  },
};

/** The answer to unknown requests. */
export const help: Scenario = {
  name: "help",
  about: "What the demo can do; also the answer to unknown requests.",
  opening: {
    en: "Looking for something I can do.",
    es: "Buscando algo que pueda hacer.",
    fr: "Je cherche ce que je peux faire.",
    ar: "أبحث عما يمكنني فعله.",
    ja: "できることを探しています。",
  },
  examples: {
    en: "What can you do?",
    es: "¿Qué sabes hacer?",
    fr: "Que sais-tu faire ?",
    ar: "ماذا يمكنك أن تفعل؟",
    ja: "何ができますか",
  },
  keywords: {
    en: "help can",
    es: "ayuda ayudame sabes puedes",
    fr: "aide sais peux",
    ar: "مساعده يمكنك تستطيع",
    ja: "何ができ 助けて ヘルプ",
  },
  async play(context) {
    const only: Words = {
      en: "I am a script and know only a few things, so I did nothing.",
      es: "Soy un guion y sé pocas cosas, así que no he hecho nada.",
      fr: "Je suis un script et ne sais que peu de choses, je n'ai donc rien fait.",
      ar: "أنا برنامج مكتوب ولا أعرف إلا أشياء قليلة، لذلك لم أفعل شيئًا.",
      ja: "私は台本なので、できることは少しだけです。何も実行していません。",
    };
    await context.say(together(only, CAN_DO));
  },
};

export const fact: Scenario = {
  name: "fact",
  about: "One short sentence.",
  opening: {
    en: "Looking up a fact.",
    es: "Buscando un dato.",
    fr: "Je cherche un fait.",
    ar: "أبحث عن معلومة.",
    ja: "豆知識を探しています。",
  },
  examples: {
    en: "Tell me a short fact about the moon",
    es: "Dime un dato sobre la luna",
    fr: "Dis-moi un fait sur la lune",
    ar: "أخبرني معلومة عن القمر",
    ja: "月の豆知識を教えて",
  },
  keywords: { en: "moon fact", es: "luna dato", fr: "lune fait", ar: "القمر معلومه", ja: "月の 豆知識" },
  async play(context) {
    await context.say({
      en: "The moon moves away from the earth by almost four centimetres every year.",
      es: "La luna se aleja de la tierra casi cuatro centímetros cada año.",
      fr: "La lune s'éloigne de la terre de presque quatre centimètres chaque année.",
      ar: "يبتعد القمر عن الأرض نحو أربعة سنتيمترات كل سنة.",
      ja: "月は毎年およそ4センチずつ地球から遠ざかっています。",
    });
  },
};

export const paragraph: Scenario = {
  name: "paragraph",
  about: "Three sentences, streamed.",
  opening: {
    en: "Writing a paragraph.",
    es: "Escribiendo un párrafo.",
    fr: "J'écris un paragraphe.",
    ar: "أكتب فقرة.",
    ja: "文章を書いています。",
  },
  examples: {
    en: "Write a short three-sentence paragraph",
    es: "Escribe un párrafo de tres frases",
    fr: "Écris un paragraphe de trois phrases",
    ar: "اكتب فقرة من ثلاث جمل",
    ja: "三文の短い文章を書いて",
  },
  keywords: {
    en: "write paragraph sentence poem story",
    es: "escribe parrafo frases cuento",
    fr: "ecris paragraphe phrases histoire",
    ar: "اكتب فقره جمل قصه",
    ja: "文章 書いて 物語",
  },
  async play(context) {
    await context.say({
      en: "The kettle sings before the house is awake. Rain taps the window, and nobody hurries. By the second cup, the day has a plan.",
      es: "La tetera canta antes de que despierte la casa. La lluvia toca la ventana y nadie tiene prisa. Con la segunda taza, el día ya tiene un plan.",
      fr: "La bouilloire chante avant que la maison s'éveille. La pluie tape à la fenêtre et personne ne se presse. À la deuxième tasse, la journée a un plan.",
      ar: "يغني الإبريق قبل أن يستيقظ البيت. يطرق المطر النافذة ولا أحد يستعجل. ومع الفنجان الثاني يصبح لليوم خطة.",
      ja: "家が目を覚ます前に、やかんが歌います。雨が窓をたたき、だれも急ぎません。二杯目のころには、一日の予定が決まっています。",
    });
  },
};
