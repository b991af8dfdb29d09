import type { Phrases } from "../phrases.ts";

type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;

const rules = new Intl.PluralRules("ar");
const MINUTES: Forms = { one: "دقيقة واحدة", two: "دقيقتان", few: "# دقائق", other: "# دقيقة" };
const SECONDS: Forms = { one: "ثانية واحدة", two: "ثانيتان", few: "# ثوان", other: "# ثانية" };

const unit = (count: number, forms: Forms): string =>
  (forms[rules.select(count)] ?? forms.other!).replace("#", String(count));

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = minutes >= 10 ? 0 : seconds % 60;
  const parts = [
    ...(minutes > 0 ? [unit(minutes, MINUTES)] : []),
    ...(rest > 0 || minutes === 0 ? [unit(rest, SECONDS)] : []),
  ];
  return parts.join(" و");
}

export const ar: Phrases = {
  status: {
    idle: "بدأ الوكيل.",
    thinking: "الوكيل يفكر.",
    calling_tool: "الوكيل يعمل على شيء.",
    writing_output: "الوكيل يجيب.",
    awaiting_input: "الوكيل ينتظر إجابة.",
    deciding: "الوكيل يقرر ما سيفعله.",
    handing_off: "الوكيل يحيل الأمر.",
  },
  otherState: (state) => `الوكيل في هذه المرحلة: ${state.replaceAll("_", " ")}.`,
  tool: (summary) => `قيد التنفيذ: ${summary}`,
  progress: (summary) => `آخر تقدم: ${summary}`,
  said: (words) => `عدد الكلمات التي قالها حتى الآن: ${words} تقريبًا.`,
  gap: (reason) =>
    reason === "lagging"
      ? "تم تجاوز بعض ما قاله الوكيل، لأنه كان أكثر مما يمكن إيصاله."
      : "ينقص بعض ما قاله الوكيل، لأن موضع المتابعة لم يعد معروفًا.",
  states: {
    idle: "جاهز.",
    thinking: "يفكر.",
    calling_tool: "يعمل على ذلك.",
    writing_output: "يجيب.",
    awaiting_input: "ينتظر إجابتك.",
    deciding: "يقرر.",
    handing_off: "يحيل الأمر.",
    interrupted: "انقطع الوكيل. قد يعود ويتابع.",
  },
  done: "تم.",
  stopped: "توقف.",
  stoppedByPerson: "توقف كما طلبت.",
  failed: "حدث خطأ، لذلك لم يكتمل العمل.",
  toolFailed: "لم ينجح ذلك.",
  toolLate: "استغرق ذلك وقتًا طويلًا.",
  toolCutOff: "انقطع ذلك لأن كل شيء أُوقف.",
  perhapsDone: "لا يُعرف هل تم أم لا.",
  working: "العمل جار.",
  percent: (percent) => `${percent} بالمئة.`,
  step: (step, total) => `الخطوة ${step} من ${total}.`,
  duration,
  waiting: "في انتظار إجابة.",
  timeLeft: (left) => `الوقت المتبقي للإجابة: ${left}.`,
  moreTime: (left) => `يوجد وقت إضافي. الوقت المتبقي للإجابة: ${left}.`,
  refusals: {
    rejected: "كانت الإجابة لا، لذلك لم يتم ذلك.",
    timed_out: "لم تصل إجابة في الوقت المحدد، لذلك لم يتم ذلك.",
    withdrawn: "سُحب السؤال، لذلك لم يتم ذلك.",
    disconnected: "انقطع الاتصال قبل الإجابة، لذلك لم يتم ذلك.",
    nobody_to_ask: "لم يكن هناك من يمكن سؤاله، لذلك لم يتم ذلك.",
    cannot_change: "التغيير المطلوب غير ممكن هنا، لذلك لم يتم ذلك.",
    too_many_changes: "تكرر التغيير أكثر من اللازم، لذلك لم يتم ذلك.",
    second_check: "لم ينجح التحقق الثاني، لذلك لم يتم ذلك.",
    unknown_outcome: "لا يُعرف هل تم هذا، لأن الوكيل انقطع. تحقق قبل المحاولة مرة أخرى.",
    already_done: "تم هذا قبل انقطاع الوكيل، ولم يُنفَّذ مرة أخرى.",
  },
  settled: {
    accepted: { terse: "كانت الإجابة نعم.", normal: "كانت الإجابة نعم. يجري التنفيذ الآن." },
    accepted_with_check: "كانت الإجابة نعم. بقي تحقق واحد.",
    agreed: "كانت الإجابة نعم.",
    rejected: "كانت الإجابة لا. لن يتم ذلك.",
    timed_out: "لم يجب أحد في الوقت المحدد. لن يتم ذلك.",
    withdrawn: "سُحب السؤال. لم يعد هناك ما يُجاب عنه.",
    disconnected: "غادر كل من يمكنه الإجابة. لن يتم ذلك.",
    nobody_to_ask: "لا يوجد من يمكن سؤاله. لن يتم ذلك.",
    changed: "طُلب تغيير. يعود السؤال مع التغيير.",
    cannot_change: "طُلب تغيير غير ممكن هنا. لن يتم ذلك.",
    answered: "أُجيب عن السؤال.",
  },
  settledLeniently: {
    timed_out: "لم يجب أحد في الوقت المحدد. يجري التنفيذ، ويمكن التراجع عنه.",
    disconnected: "غادر كل من يمكنه الإجابة. يجري التنفيذ، ويمكن التراجع عنه.",
    nobody_to_ask: "لا يوجد من يمكن سؤاله. يجري التنفيذ، ويمكن التراجع عنه.",
  },
  unanswered: {
    timed_out: "لم يجب أحد في الوقت المحدد.",
    disconnected: "غادر كل من يمكنه الإجابة.",
    nobody_to_ask: "لا يوجد من يمكن سؤاله.",
    assumes: "يتابع الوكيل بما يفترضه.",
    goes_on: "يتابع الوكيل من دون إجابة.",
  },
  interrupted: {
    state: "انقطع الوكيل. قد يعود ويتابع.",
    back: "عاد الوكيل ويتابع.",
    cut_off: "انقطع ذلك لأن الوكيل انقطع.",
    accepted: "كانت الإجابة نعم. انقطع الوكيل: يُنفَّذ إذا عاد في الوقت المحدد.",
    changed: "طُلب تغيير. انقطع الوكيل: يعود السؤال إذا عاد الوكيل.",
    expired: "لم يعد الوكيل في الوقت المحدد. لم يتم ذلك.",
    unknown: "لا يُعرف هل تم هذا. تحقق قبل المحاولة مرة أخرى.",
    closed: "توقف الوكيل قبل أن ينتهي.",
    hint: "لن يُفعل شيء آخر هنا. اطلب مرة أخرى إذا كنت لا تزال تريد ذلك.",
  },
  unknown: (action) => `لا يُعرف هل تم هذا: ${action} تحقق قبل المحاولة مرة أخرى.`,
};
