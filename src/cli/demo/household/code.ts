/** Read-only tools: fetching data, and running tests with progress and with code in the answer. */
import { PRETENDED, type Scenario, type Words, wordsOf } from "../scenario.ts";

export const fetchData: Scenario = {
  name: "fetch",
  about: "A tool call and its result.",
  opening: {
    en: "Fetching some data.",
    es: "Obteniendo datos.",
    fr: "Je récupère des données.",
    ar: "أجلب بعض البيانات.",
    ja: "データを取得しています。",
  },
  tools: ["fetch_data"],
  examples: {
    en: "Use a tool to fetch some data",
    es: "Usa una herramienta para obtener datos",
    fr: "Utilise un outil pour récupérer des données",
    ar: "استخدم أداة لجلب البيانات",
    ja: "道具を使ってデータを取ってきて",
  },
  keywords: {
    en: "tool fetch data arguments url",
    es: "herramienta obtener datos",
    fr: "outil recuperer donnees",
    ar: "اداه جلب بيانات",
    ja: "データ 道具",
  },
  async play(context) {
    await context.session.tool(
      {
        tool: "fetch_data",
        summary: {
          en: "Fetching the numbers.",
          es: "Obteniendo los números.",
          fr: "Je récupère les chiffres.",
          ar: "أجلب الأرقام.",
          ja: "数字を取得しています。",
        },
      },
      () => context.wait(800),
    );
    await context.say({
      en: "There are three entries: 4, 8 and 15. I made them up.",
      es: "Hay tres valores: 4, 8 y 15. Me los he inventado.",
      fr: "Il y a trois valeurs : 4, 8 et 15. Je les ai inventées.",
      ar: "هناك ثلاث قيم: 4 و8 و15. هي من تأليفي.",
      ja: "値は3つです。4と8と15です。作り話です。",
    });
  },
};

const FOUND: Words = {
  en: "One test fails: the total of an empty basket should be 0. This is the change I would make:",
  es: "Falla una prueba: el total de una cesta vacía debería ser 0. Este es el cambio que haría:",
  fr: "Un test échoue : le total d'un panier vide devrait être 0. Voici le changement que je ferais :",
  ar: "يفشل اختبار واحد: يجب أن يكون مجموع سلة فارغة 0. هذا هو التغيير الذي أقترحه:",
  ja: "1つのテストが失敗しています。空のかごの合計は0のはずです。次のように直します。",
};

const CHANGE = `

\`\`\`ts
export const total = (prices: number[]) =>
  prices.reduce((sum, price) => sum + price, 0);
\`\`\`
`;

export const tests: Scenario = {
  name: "code",
  about: "Running tests: progress in steps, then Markdown with code.",
  opening: {
    en: "Running your tests.",
    es: "Ejecutando tus pruebas.",
    fr: "Je lance vos tests.",
    ar: "أشغل اختباراتك.",
    ja: "テストを実行しています。",
  },
  tools: ["run_tests"],
  examples: {
    en: "Run the tests and fix my code",
    es: "Ejecuta las pruebas y arregla mi código",
    fr: "Lance les tests et corrige mon code",
    ar: "شغل الاختبارات وأصلح الشيفرة",
    ja: "テストを実行してコードを直して",
  },
  keywords: {
    en: "code test fix bug program run",
    es: "codigo pruebas arregla programa ejecuta",
    fr: "code tests corrige programme lance",
    ar: "شيفره اختبارات اصلح برنامج",
    ja: "コード テスト 直して",
  },
  async play(context) {
    const { session } = context;
    await session.tool(
      {
        tool: "run_tests",
        summary: {
          en: "Running 120 tests.",
          es: "Ejecutando 120 pruebas.",
          fr: "120 tests en cours.",
          ar: "أشغل 120 اختبارًا.",
          ja: "120件のテストを実行しています。",
        },
        expected_duration_ms: 4_000,
      },
      async () => {
        for (const percent of [25, 50, 75, 100]) {
          await context.wait(900);
          await session.progress({ percent, eta_ms: (100 - percent) * 40 });
        }
      },
    );
    const answer = wordsOf((language) => `${FOUND[language]}${CHANGE}`);
    await context.say(answer, { content_type: "text/markdown" });
    return PRETENDED;
  },
};
