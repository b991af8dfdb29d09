/** A long answer in Markdown: headings, a list, a table, emphasis, a quotation. */
import type { Scenario, Words } from "../scenario.ts";

const ANSWER: Words = {
  en: `# How a rainbow forms

A rainbow needs **sunlight**, **rain**, and somebody who stands between the two.

## Step by step

1. Sunlight looks white, but it is a mixture of all colours.
2. When the light enters a drop of water, it slows down and bends. Blue light bends a little more than red.
3. At the back of the drop, part of the light is reflected, as in a mirror.
4. On its way out the light bends once more, and the colours spread further apart.
5. Each drop sends one colour to your eye. Drops at 42 degrees send red, drops at 40 degrees send violet.

## Two arcs

| arc | reflections | outer colour |
|---|---|---|
| first | one | red |
| second | two | violet |

> Whoever moves takes the rainbow along: no two people see the same one.

This answer was written beforehand, because I am a script.
`,
  es: `# Cómo se forma el arcoíris

Hacen falta **sol**, **lluvia** y alguien que esté entre los dos.

## Paso a paso

1. La luz del sol parece blanca, pero es una mezcla de todos los colores.
2. Al entrar en una gota de agua, la luz se frena y se desvía. La azul se desvía un poco más que la roja.
3. En el fondo de la gota, parte de la luz se refleja como en un espejo.
4. Al salir se desvía otra vez, y los colores se separan más.
5. Cada gota envía un solo color a tus ojos: a 42 grados el rojo, a 40 grados el violeta.

## Dos arcos

| arco | reflejos | color exterior |
|---|---|---|
| primero | uno | rojo |
| segundo | dos | violeta |

> Quien se mueve se lleva su arcoíris: no hay dos personas que vean el mismo.

Esta respuesta estaba escrita de antemano, porque soy un guion.
`,
  fr: `# Comment se forme un arc-en-ciel

Il faut du **soleil**, de la **pluie**, et quelqu'un entre les deux.

## Étape par étape

1. La lumière du soleil semble blanche, mais elle mêle toutes les couleurs.
2. En entrant dans une goutte d'eau, elle ralentit et dévie. Le bleu dévie un peu plus que le rouge.
3. Au fond de la goutte, une partie de la lumière se réfléchit comme dans un miroir.
4. En sortant, elle dévie encore, et les couleurs s'écartent davantage.
5. Chaque goutte envoie une couleur à votre œil : à 42 degrés le rouge, à 40 degrés le violet.

## Deux arcs

| arc | réflexions | couleur extérieure |
|---|---|---|
| premier | une | rouge |
| second | deux | violet |

> Qui se déplace emporte son arc-en-ciel : deux personnes ne voient jamais le même.

Cette réponse était écrite d'avance, car je suis un script.
`,
  ar: `# كيف يتكون قوس قزح

يحتاج قوس قزح إلى **الشمس** و**المطر** وشخص يقف بينهما.

## خطوة بخطوة

1. يبدو ضوء الشمس أبيض، لكنه مزيج من كل الألوان.
2. عندما يدخل الضوء قطرة ماء يبطئ وينحني. ينحني الأزرق أكثر قليلًا من الأحمر.
3. في آخر القطرة ينعكس جزء من الضوء كما في المرآة.
4. عند خروجه ينحني مرة أخرى، فتتباعد الألوان.
5. ترسل كل قطرة لونًا واحدًا إلى عينك: الأحمر عند 42 درجة، والبنفسجي عند 40 درجة.

## قوسان

| القوس | الانعكاسات | اللون الخارجي |
|---|---|---|
| الأول | واحد | أحمر |
| الثاني | اثنان | بنفسجي |

> من يتحرك يأخذ قوسه معه: لا يرى شخصان القوس نفسه.

كُتبت هذه الإجابة مسبقًا لأنني برنامج مكتوب.
`,
  ja: `# 虹のでき方

虹には**太陽の光**と**雨**、そしてその間に立つ人が必要です。

## 順を追って

1. 太陽の光は白く見えますが、すべての色が混ざっています。
2. 光が水滴に入ると、遅くなって曲がります。青は赤より少し大きく曲がります。
3. 水滴の奥で、光の一部が鏡のように反射します。
4. 外に出るときにもう一度曲がり、色がさらに分かれます。
5. 一つの水滴は一つの色だけを目に届けます。42度なら赤、40度なら紫です。

## 二つの虹

| 虹 | 反射 | 外側の色 |
|---|---|---|
| 一つ目 | 1回 | 赤 |
| 二つ目 | 2回 | 紫 |

> 動けば虹もついてきます。同じ虹を見る人は二人といません。

私は台本なので、この答えは前もって書かれたものです。
`,
};

export const rainbow: Scenario = {
  name: "rainbow",
  about: "A long answer in Markdown, streamed.",
  opening: {
    en: "Explaining rainbows.",
    es: "Explicando el arcoíris.",
    fr: "J'explique l'arc-en-ciel.",
    ar: "أشرح قوس قزح.",
    ja: "虹について説明します。",
  },
  examples: {
    en: "Explain how rainbows form, step by step",
    es: "Explica paso a paso cómo se forma el arcoíris",
    fr: "Explique étape par étape comment se forme un arc-en-ciel",
    ar: "اشرح خطوة بخطوة كيف يتكون قوس قزح",
    ja: "虹のでき方を順を追って説明して",
  },
  keywords: {
    en: "explain rainbow explanation step detailed",
    es: "explica arcoiris paso",
    fr: "explique arc ciel etape",
    ar: "اشرح قوس قزح خطوه",
    ja: "虹 説明",
  },
  async play(context) {
    await context.say(ANSWER, { content_type: "text/markdown" });
  },
};
