/** Recorded sessions in five languages: what agents sent, and what the person answered, second by second. */
import type { AgentEvent } from "../../src/protocol/types.ts";
import type { TestListener } from "./support.ts";
import { eventsOf, type Fields } from "./support.ts";

interface Words {
  readonly about: readonly [terse: string, normal: string, detailed: string];
  readonly thinking: string;
  readonly balance: readonly [terse: string, normal: string];
  readonly balanceDone: string;
  readonly half: string;
  /** Streamed in pieces that are no sentences. */
  readonly answer: readonly string[];
  readonly action: string;
  readonly consequence: string;
  readonly amount: string;
  readonly to: string;
  readonly landlord: string;
  readonly paying: readonly [terse: string, normal: string];
  readonly paid: string;
  readonly done: readonly [terse: string, normal: string, detailed: string];
  readonly result: string;
}

export const WORDS: Readonly<Record<string, Words>> = {
  en: {
    about: ["Rent.", "Paying your rent.", "Paying this month's rent from your current account."],
    thinking: "Looking at your accounts.",
    balance: ["Balance.", "Checking your balance."],
    balanceDone: "Your balance is 2,100 dollars.",
    half: "Half of the receipts are read.",
    answer: [
      "You have en",
      "ough money. The re",
      "nt is due tomorrow, so ",
      "I will pay it now.",
      "\n\n- Rent: 500\n- Fee: 0\n",
    ],
    action: "Transfer $500 to Ada Obi.",
    consequence: "The money leaves your account at once.",
    amount: "Amount",
    to: "To",
    landlord: "Ada Obi",
    paying: ["Transfer.", "Transferring the money."],
    paid: "The money was sent.",
    done: [
      "Rent paid.",
      "Your rent is paid.",
      "Your rent for January is paid, and the receipt is in your mail.",
    ],
    result: "Ada Obi received 500 dollars.",
  },
  es: {
    about: [
      "Alquiler.",
      "Pagando tu alquiler.",
      "Pagando el alquiler de este mes desde tu cuenta corriente.",
    ],
    thinking: "Mirando tus cuentas.",
    balance: ["Saldo.", "Consultando tu saldo."],
    balanceDone: "Tu saldo es de 2.100 euros.",
    half: "La mitad de los recibos está leída.",
    answer: [
      "Tienes din",
      "ero suficiente. El alqui",
      "ler vence mañana, así que ",
      "lo pago ahora.",
      "\n\n- Alquiler: 500\n- Comisión: 0\n",
    ],
    action: "Transferir 500 euros a Ada Obi.",
    consequence: "El dinero sale de tu cuenta al momento.",
    amount: "Importe",
    to: "Para",
    landlord: "Ada Obi",
    paying: ["Transferencia.", "Transfiriendo el dinero."],
    paid: "El dinero se ha enviado.",
    done: [
      "Alquiler pagado.",
      "Tu alquiler está pagado.",
      "Tu alquiler de enero está pagado y el recibo está en tu correo.",
    ],
    result: "Ada Obi ha recibido 500 euros.",
  },
  ar: {
    about: ["الإيجار.", "دفع إيجارك.", "دفع إيجار هذا الشهر من حسابك الجاري."],
    thinking: "أنظر في حساباتك.",
    balance: ["الرصيد.", "أتحقق من رصيدك."],
    balanceDone: "رصيدك 2100 دينار.",
    half: "قُرئ نصف الإيصالات.",
    answer: [
      "لديك ما",
      "ل كافٍ. موعد الإيج",
      "ار غدًا، لذلك ",
      "سأدفعه الآن.",
      "\n\n- الإيجار: 500\n- الرسوم: 0\n",
    ],
    action: "تحويل 500 دينار إلى آدا أوبي.",
    consequence: "يخرج المال من حسابك فورًا.",
    amount: "المبلغ",
    to: "إلى",
    landlord: "آدا أوبي",
    paying: ["التحويل.", "أحوّل المال."],
    paid: "أُرسل المال.",
    done: ["دُفع الإيجار.", "دُفع إيجارك.", "دُفع إيجارك لشهر يناير، والإيصال في بريدك."],
    result: "استلمت آدا أوبي 500 دينار.",
  },
  yo: {
    about: ["Owó ilé.", "Mo ń san owó ilé rẹ.", "Mo ń san owó ilé oṣù yìí láti inú àkáǹtì rẹ."],
    thinking: "Mo ń wo àwọn àkáǹtì rẹ.",
    balance: ["Iye owó.", "Mo ń yẹ iye owó rẹ wò."],
    balanceDone: "Iye owó rẹ jẹ́ náírà 2100.",
    half: "Mo ti ka ìdajì àwọn rìsíìtì.",
    answer: [
      "O ní owó tó ",
      "tó. Ọ̀la ni owó i",
      "lé yóò pé, nítorí náà ",
      "mo máa san án báyìí.",
      "\n\n- Owó ilé: 500\n- Owó iṣẹ́: 0\n",
    ],
    action: "Fi náírà 500 ránṣẹ́ sí Ada Obi.",
    consequence: "Owó náà yóò kúrò nínú àkáǹtì rẹ lẹ́sẹ̀kẹsẹ̀.",
    amount: "Iye",
    to: "Sí",
    landlord: "Ada Obi",
    paying: ["Ìfiránṣẹ́.", "Mo ń fi owó náà ránṣẹ́."],
    paid: "A ti fi owó náà ránṣẹ́.",
    done: [
      "A ti san án.",
      "A ti san owó ilé rẹ.",
      "A ti san owó ilé rẹ fún oṣù kìíní, rìsíìtì sì wà nínú ímeèlì rẹ.",
    ],
    result: "Ada Obi ti gba náírà 500.",
  },
  ja: {
    about: ["家賃。", "家賃を支払います。", "今月の家賃を普通口座から支払います。"],
    thinking: "口座を確認しています。",
    balance: ["残高。", "残高を調べています。"],
    balanceDone: "残高は2100円です。",
    half: "領収書の半分を読みました。",
    answer: [
      "お金は足り",
      "ています。家賃の期",
      "限は明日なので、",
      "今支払います。",
      "\n\n- 家賃: 500\n- 手数料: 0\n",
    ],
    action: "アダ・オビさんに500円を送金します。",
    consequence: "お金はすぐに口座から出ます。",
    amount: "金額",
    to: "送り先",
    landlord: "アダ・オビさん",
    paying: ["送金。", "送金しています。"],
    paid: "送金しました。",
    done: ["支払い済み。", "家賃を支払いました。", "1月の家賃を支払い、領収書をメールに送りました。"],
    result: "アダ・オビさんが500円を受け取りました。",
  },
};

const spoken = ([summary_terse, summary_normal, summary_detailed]: readonly (
  | string
  | undefined
)[]): Fields => ({
  summary_terse,
  summary_normal,
  ...(summary_detailed === undefined ? {} : { summary_detailed }),
});

const resolved = (reply_token: string, outcome: string): Fields => ({
  "@context": ["https://aaep-protocol.org/context/v1", "urn:earshot:aaep:v1"],
  extensions: { earshot: { resolves: { reply_token, outcome } } },
});

/** A payment that needs two steps: heard, read back, allowed, done. */
export function payRent(listener: TestListener, language: string): void {
  const words = WORDS[language]!;
  const event = eventsOf(language);
  const hear = (...events: AgentEvent[]) => listener.hear(...events).wait(2000);
  hear(event("session.started", spoken(words.about)));
  hear(event("state.changed", { from_state: "idle", to_state: "thinking", summary_normal: words.thinking }));
  hear(event("tool.invoked", { tool: "balance", tool_call_id: "call_1", ...spoken(words.balance) }));
  hear(
    event("progress.updated", {
      urgency: "background",
      progress: { percent: 50 },
      summary_normal: words.half,
    }),
  );
  hear(
    event("tool.completed", {
      tool: "balance",
      tool_call_id: "call_1",
      status: "success",
      summary_normal: words.balanceDone,
    }),
  );
  let position = 0;
  words.answer.forEach((chunk, index) => {
    const complete = index === words.answer.length - 1;
    listener
      .hear(
        event("output.streaming", {
          chunk,
          position,
          complete,
          coalesce_hint: "none",
          output_id: "out_1",
          content_type: "text/markdown",
        }),
      )
      .wait(300);
    position += Array.from(chunk).length;
  });
  const params = [
    { name: "amount", label: words.amount, value: 500 },
    { name: "to", label: words.to, value: words.landlord },
  ];
  hear(event("state.changed", { from_state: "writing_output", to_state: "awaiting_input" }));
  hear(
    event("awaiting.confirmation", {
      action: words.action,
      consequence: words.consequence,
      reply_token: "rpl_1",
      timeout_seconds: 120,
      default_decision: "reject",
      risk_level: "high",
      irreversible: true,
      extra_context: { tool_call_id: "call_2", params, params_hash: "0".repeat(64) },
    }),
  );
  // The person thinks; a minute before the end they are told, once more 20 seconds before it they would be.
  listener.wait(70_000).answer("yes").wait(3000).answer("confirm").wait(1000);
  hear(
    event("state.changed", {
      from_state: "awaiting_input",
      to_state: "calling_tool",
      ...resolved("rpl_1", "accepted"),
    }),
  );
  hear(
    event("tool.invoked", {
      tool: "transfer",
      tool_call_id: "call_2",
      risk_level: "high",
      irreversible: true,
      ...spoken(words.paying),
    }),
  );
  listener.wait(20_000);
  hear(
    event("tool.completed", {
      tool: "transfer",
      tool_call_id: "call_2",
      status: "success",
      summary_normal: words.paid,
    }),
  );
  hear(
    event("session.completed", { ...spoken(words.done), output_summary: words.result, duration_ms: 95_000 }),
  );
}

/** Things go wrong: a tool fails, a question is refused, another taken back, words are asked for, and the end is an error. */
export function trouble(listener: TestListener): void {
  const event = eventsOf();
  const hear = (...events: AgentEvent[]) => listener.hear(...events).wait(2000);
  const ask = (reply_token: string, action: string, over: Fields = {}) =>
    event("awaiting.confirmation", {
      action,
      consequence: "It cannot be called back.",
      reply_token,
      timeout_seconds: 300,
      default_decision: "reject",
      ...over,
    });
  hear(event("session.started", { summary_terse: "Trip.", summary_normal: "Booking your trip." }));
  hear(
    event("tool.invoked", {
      tool: "search",
      tool_call_id: "call_1",
      summary_terse: "Flights.",
      summary_normal: "Searching flights.",
      description: "Asks three airlines.",
    }),
  );
  hear(
    event("tool.completed", {
      tool: "search",
      tool_call_id: "call_1",
      status: "timeout",
      summary_normal: "Searching flights.",
      error_message: "One airline did not answer.",
    }),
  );
  const choices = [
    { value: "m", label: "In the morning" },
    { value: "e", label: "In the evening" },
  ];
  hear(
    event("awaiting.clarification", {
      question: "When do you want to fly?",
      context: "There are two flights.",
      accepted_response_kinds: ["multiple_choice"],
      choices,
      reply_token: "rpl_1",
      timeout_seconds: 300,
    }),
  );
  listener.answer({ kind: "text", text: "3" }).answer({ kind: "text", text: "2" }).wait(2000);
  hear(
    ask("rpl_2", "Send your passport number to the airline.", {
      risk_level: "medium",
      extra_context: { params: [{ name: "passport", label: "Passport number", masked: true }] },
    }),
  );
  listener.answer("no").wait(2000);
  hear(
    event("state.changed", {
      from_state: "awaiting_input",
      to_state: "thinking",
      summary_normal: "The answer was no. It will not be done.",
      ...resolved("rpl_2", "rejected"),
    }),
  );
  hear(ask("rpl_3", "Buy the ticket for $90."));
  hear(
    event("state.changed", {
      from_state: "awaiting_input",
      to_state: "thinking",
      ...resolved("rpl_3", "withdrawn"),
    }),
  );
  hear(event("handoff.requested", { reason: "The airline wants to talk to you.", target_kind: "human" }));
  hear(
    event("session.errored", {
      summary_terse: "No ticket.",
      summary_normal: "The ticket could not be bought.",
      error_category: "requires_user",
      remediation_hint: "Call the airline.",
    }),
  );
  listener.do("what");
}
