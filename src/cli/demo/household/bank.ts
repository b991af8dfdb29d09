/** The bank: reading a balance, and the transfer, which is irreversible and high-risk. */
import { nameIn, numberIn, PRETENDED, PRETENDS, type Scenario, together, type Words } from "../scenario.ts";

const LOOKING: Words = {
  en: "Checking your balance.",
  es: "Consultando tu saldo.",
  fr: "Je consulte votre solde.",
  ar: "أتحقق من رصيدك.",
  ja: "残高を確認しています。",
};
const BALANCE: Words = {
  en: "Your balance is 2,340 dollars.",
  es: "Tu saldo es de 2.340 dólares.",
  fr: "Votre solde est de 2 340 dollars.",
  ar: "رصيدك 2340 دولارًا.",
  ja: "残高は2,340ドルです。",
};

const money = (amount: number): Words => ({
  en: `${amount} ${amount === 1 ? "dollar" : "dollars"}`,
  es: `${amount} ${amount === 1 ? "dólar" : "dólares"}`,
  fr: `${amount} ${amount < 2 ? "dollar" : "dollars"}`,
  ar: `${amount} دولار`,
  ja: `${amount}ドル`,
});

const SAVINGS: Words = {
  en: "your savings account",
  es: "tu cuenta de ahorros",
  fr: "votre compte d'épargne",
  ar: "حساب مدخراتك",
  ja: "貯蓄口座",
};
const recipient = (to: string): Words =>
  to === "savings" ? SAVINGS : { en: to, es: to, fr: to, ar: to, ja: to };

export const balance: Scenario = {
  name: "balance",
  about: "A harmless tool and its answer.",
  opening: LOOKING,
  tools: ["fetch_balance"],
  examples: {
    en: "What is my balance?",
    es: "¿Cuál es mi saldo?",
    fr: "Quel est mon solde ?",
    ar: "كم رصيدي؟",
    ja: "残高を教えて",
  },
  keywords: {
    en: "balance account",
    es: "saldo cuenta",
    fr: "solde compte",
    ar: "رصيد رصيدي حساب",
    ja: "残高",
  },
  async play(context) {
    await context.session.tool({ tool: "fetch_balance", summary: LOOKING, done: BALANCE }, () =>
      context.wait(900),
    );
    await context.say(BALANCE);
    return PRETENDED;
  },
};

export const transfer: Scenario = {
  name: "transfer",
  about: "A bank transfer: high risk, cannot be undone, the amount can be changed.",
  opening: {
    en: "Preparing a transfer, as a demo.",
    es: "Preparando una transferencia, como demostración.",
    fr: "Je prépare un virement, pour la démonstration.",
    ar: "أجهز تحويلًا على سبيل العرض.",
    ja: "デモとして振り込みを準備しています。",
  },
  tools: ["fetch_balance", "transfer_money"],
  examples: {
    en: "Transfer 500 dollars to savings",
    es: "Transfiere 500 dólares a mis ahorros",
    fr: "Vire 500 dollars sur mon épargne",
    ar: "حوّل 500 دولار إلى المدخرات",
    ja: "貯金に500ドル振り込んで",
  },
  keywords: {
    en: "transfer pay money dollar savings send",
    es: "transfiere transferir paga dinero dolar ahorro envia",
    fr: "vire virement paie argent dollar epargne",
    ar: "حول تحويل ادفع نقود دولار المدخرات مدخرات",
    ja: "振り込 振込 送金 貯金 ドル お金",
  },
  async play(context) {
    const { session, request } = context;
    const params = { amount: numberIn(request) ?? 500, to: nameIn(request) ?? "savings" };
    await session.tool({ tool: "fetch_balance", summary: LOOKING, done: BALANCE }, () => context.wait(900));
    const sent = await session.tool(
      {
        tool: "transfer_money",
        summary: {
          en: "Transferring now.",
          es: "Haciendo la transferencia.",
          fr: "Virement en cours.",
          ar: "يجري التحويل الآن.",
          ja: "振り込んでいます。",
        },
        risk: "high",
        irreversible: true,
        params,
        modifiable: ["amount"],
        action: ({ amount, to }) => {
          const [sum, whom] = [money(amount), recipient(to)];
          return {
            en: `Transfer ${sum.en} to ${whom.en}.`,
            es: `Transferir ${sum.es} a ${whom.es}.`,
            fr: `Virer ${sum.fr} à ${whom.fr}.`,
            ar: `تحويل ${sum.ar} إلى ${whom.ar}.`,
            ja: `${whom.ja}に${sum.ja}を振り込みます。`,
          };
        },
        consequence: together(
          {
            en: "The money leaves your account at once and cannot be called back.",
            es: "El dinero sale de tu cuenta al momento y no se puede recuperar.",
            fr: "L'argent quitte votre compte aussitôt et ne peut pas être rappelé.",
            ar: "يخرج المال من حسابك فورًا ولا يمكن استرجاعه.",
            ja: "お金はすぐに口座から出て、取り消せません。",
          },
          PRETENDS,
        ),
        labels: {
          amount: { en: "Amount", es: "Importe", fr: "Montant", ar: "المبلغ", ja: "金額" },
          to: { en: "To", es: "Para", fr: "Destinataire", ar: "إلى", ja: "振込先" },
        },
        display: { amount: money, to: recipient },
        done: {
          en: "The pretended transfer is made.",
          es: "La transferencia simulada está hecha.",
          fr: "Le virement simulé est fait.",
          ar: "تم التحويل التجريبي.",
          ja: "デモの振り込みが終わりました。",
        },
      },
      async (approved) => {
        await context.wait(1_200);
        return approved;
      },
    );
    if (!sent.ran) return context.refused(sent.summary);
    const [sum, whom] = [money(sent.value.amount), recipient(sent.value.to)];
    await context.say({
      en: `I pretended to transfer ${sum.en} to ${whom.en}.`,
      es: `He simulado transferir ${sum.es} a ${whom.es}.`,
      fr: `J'ai fait semblant de virer ${sum.fr} à ${whom.fr}.`,
      ar: `تظاهرت بتحويل ${sum.ar} إلى ${whom.ar}.`,
      ja: `${whom.ja}に${sum.ja}を振り込んだことにしました。`,
    });
    return PRETENDED;
  },
};
