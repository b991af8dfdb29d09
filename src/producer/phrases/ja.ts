import type { Phrases } from "../phrases.ts";

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = minutes >= 10 ? 0 : seconds % 60;
  return `${minutes > 0 ? `${minutes}分` : ""}${rest > 0 || minutes === 0 ? `${rest}秒` : ""}`;
}

export const ja: Phrases = {
  status: {
    idle: "エージェントが開始しました。",
    thinking: "エージェントは考えています。",
    calling_tool: "エージェントは作業中です。",
    writing_output: "エージェントは回答しています。",
    awaiting_input: "エージェントは回答を待っています。",
    deciding: "エージェントは次の行動を決めています。",
    handing_off: "エージェントは引き継いでいます。",
  },
  otherState: (state) => `エージェントの現在の段階：${state.replaceAll("_", " ")}。`,
  tool: (summary) => `実行中：${summary}`,
  progress: (summary) => `最新の進み具合：${summary}`,
  said: (words) => `これまでに約${words}語を話しました。`,
  gap: (reason) =>
    reason === "lagging"
      ? "届けられる量を超えたため、エージェントの発言の一部を飛ばしました。"
      : "続きの位置が分からないため、エージェントの発言の一部が欠けています。",
  states: {
    idle: "準備ができました。",
    thinking: "考えています。",
    calling_tool: "作業中です。",
    writing_output: "回答しています。",
    awaiting_input: "お返事を待っています。",
    deciding: "判断しています。",
    handing_off: "引き継いでいます。",
    interrupted: "エージェントが中断しました。戻って続けるかもしれません。",
  },
  done: "完了しました。",
  stopped: "停止しました。",
  stoppedByPerson: "ご希望どおり停止しました。",
  failed: "問題が起きたため、終えることができませんでした。",
  toolFailed: "うまくいきませんでした。",
  toolLate: "時間がかかりすぎました。",
  toolCutOff: "すべて停止されたため、中断しました。",
  perhapsDone: "実行されたかどうかは分かりません。",
  working: "作業中です。",
  percent: (percent) => `${percent}パーセント。`,
  step: (step, total) => `${total}段階のうち${step}番目。`,
  duration,
  waiting: "お返事を待っています。",
  timeLeft: (left) => `回答の残り時間は${left}です。`,
  moreTime: (left) => `時間が延びました。回答の残り時間は${left}です。`,
  refusals: {
    rejected: "答えが「いいえ」だったので、実行していません。",
    timed_out: "時間内に答えがなかったので、実行していません。",
    withdrawn: "質問が取り下げられたので、実行していません。",
    disconnected: "答えの前に接続が切れたので、実行していません。",
    nobody_to_ask: "尋ねる相手がいなかったので、実行していません。",
    cannot_change: "求められた変更はここではできないので、実行していません。",
    too_many_changes: "変更が多すぎたので、実行していません。",
    second_check: "二つ目の確認が通らなかったので、実行していません。",
    unknown_outcome:
      "エージェントが中断したため、実行されたかどうか分かりません。やり直す前に確かめてください。",
    already_done: "中断の前にすでに実行されています。もう一度は実行していません。",
  },
  settled: {
    accepted: { terse: "答えは「はい」でした。", normal: "答えは「はい」でした。これから実行します。" },
    accepted_with_check: "答えは「はい」でした。その前にもう一つ確認があります。",
    agreed: "答えは「はい」でした。",
    rejected: "答えは「いいえ」でした。実行しません。",
    timed_out: "時間内に答えがありませんでした。実行しません。",
    withdrawn: "質問は取り下げられました。もう答える必要はありません。",
    disconnected: "答えられる人が全員いなくなりました。実行しません。",
    nobody_to_ask: "尋ねる相手がいません。実行しません。",
    changed: "変更が求められました。変更した内容でもう一度質問します。",
    cannot_change: "ここではできない変更が求められました。実行しません。",
    answered: "質問に答えがありました。",
  },
  settledLeniently: {
    timed_out: "時間内に答えがありませんでした。実行します。元に戻せます。",
    disconnected: "答えられる人が全員いなくなりました。実行します。元に戻せます。",
    nobody_to_ask: "尋ねる相手がいません。実行します。元に戻せます。",
  },
  unanswered: {
    timed_out: "時間内に答えがありませんでした。",
    disconnected: "答えられる人が全員いなくなりました。",
    nobody_to_ask: "尋ねる相手がいません。",
    assumes: "エージェントは自分の想定で続けます。",
    goes_on: "エージェントは答えなしで続けます。",
  },
  interrupted: {
    state: "エージェントが中断しました。戻って続けるかもしれません。",
    back: "エージェントが戻り、続けます。",
    cut_off: "エージェントが中断したため、途切れました。",
    accepted: "答えは「はい」でした。エージェントが中断しました。時間内に戻れば実行します。",
    changed: "変更が求められました。エージェントが中断しました。戻れば、もう一度質問します。",
    expired: "エージェントは時間内に戻りませんでした。実行していません。",
    unknown: "実行されたかどうか分かりません。やり直す前に確かめてください。",
    closed: "エージェントは終わる前に停止しました。",
    hint: "ここではこれ以上何も行いません。必要ならもう一度頼んでください。",
  },
  unknown: (action) => `実行されたかどうか分かりません：${action}やり直す前に確かめてください。`,
};
