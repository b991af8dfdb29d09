/** Calendar and kitchen: a reversible booking, and questions for a number, a choice, a yes or no. */
import { PRETENDED, PRETENDS, type Scenario, together, type Words } from "../scenario.ts";

export const room: Scenario = {
  name: "room",
  about: "Booking a room: medium risk, can be undone.",
  opening: {
    en: "Looking for a free room.",
    es: "Buscando una sala libre.",
    fr: "Je cherche une salle libre.",
    ar: "أبحث عن غرفة متاحة.",
    ja: "空いている会議室を探しています。",
  },
  tools: ["find_room", "book_room"],
  examples: {
    en: "Book a room",
    es: "Reserva una sala",
    fr: "Réserve une salle",
    ar: "احجز غرفة",
    ja: "会議室を予約して",
  },
  keywords: {
    en: "book room meeting calendar appointment",
    es: "reserva reservar sala reunion calendario cita",
    fr: "reserve reserver salle reunion calendrier rendez",
    ar: "احجز حجز غرفه اجتماع موعد",
    ja: "会議室 予約 予定",
  },
  async play(context) {
    const { session } = context;
    await session.tool(
      {
        tool: "find_room",
        summary: {
          en: "Looking at the calendar.",
          es: "Mirando el calendario.",
          fr: "Je regarde le calendrier.",
          ar: "أنظر في التقويم.",
          ja: "予定表を見ています。",
        },
        done: {
          en: "The garden room is free tomorrow at 2 pm.",
          es: "La sala del jardín está libre mañana a las 14:00.",
          fr: "La salle du jardin est libre demain à 14 heures.",
          ar: "غرفة الحديقة متاحة غدًا الساعة الثانية ظهرًا.",
          ja: "庭の間は明日の午後2時に空いています。",
        },
      },
      () => context.wait(900),
    );
    const booked = await session.tool(
      {
        tool: "book_room",
        summary: {
          en: "Booking the room.",
          es: "Reservando la sala.",
          fr: "Je réserve la salle.",
          ar: "أحجز الغرفة.",
          ja: "会議室を予約しています。",
        },
        risk: "medium",
        irreversible: false,
        reversibility: "reversible",
        params: { room: "garden", hour: "14:00" },
        action: {
          en: "Book the garden room for tomorrow at 2 pm.",
          es: "Reservar la sala del jardín para mañana a las 14:00.",
          fr: "Réserver la salle du jardin pour demain à 14 heures.",
          ar: "حجز غرفة الحديقة غدًا الساعة الثانية ظهرًا.",
          ja: "明日の午後2時に庭の間を予約します。",
        },
        consequence: together(
          {
            en: "Others cannot have the room at that time. The booking can be cancelled.",
            es: "Nadie más podrá usar la sala a esa hora. La reserva se puede anular.",
            fr: "La salle ne sera plus libre à cette heure. La réservation peut être annulée.",
            ar: "لن تكون الغرفة متاحة لغيرك في ذلك الوقت. يمكن إلغاء الحجز.",
            ja: "その時間はほかの人が使えなくなります。予約は取り消せます。",
          },
          PRETENDS,
        ),
        labels: {
          room: { en: "Room", es: "Sala", fr: "Salle", ar: "الغرفة", ja: "部屋" },
          hour: { en: "Time", es: "Hora", fr: "Heure", ar: "الوقت", ja: "時刻" },
        },
      },
      () => context.wait(900),
    );
    if (!booked.ran) return context.refused(booked.summary);
    const kept: Words = {
      en: "I pretended to book the garden room for tomorrow at 2 pm.",
      es: "He simulado reservar la sala del jardín para mañana a las 14:00.",
      fr: "J'ai fait semblant de réserver la salle du jardin pour demain à 14 heures.",
      ar: "تظاهرت بحجز غرفة الحديقة غدًا الساعة الثانية ظهرًا.",
      ja: "明日の午後2時に庭の間を予約したことにしました。",
    };
    await context.say(kept);
    return PRETENDED;
  },
};

export const timer: Scenario = {
  name: "timer",
  about: "A question that wants a number, then progress.",
  opening: {
    en: "Setting a timer.",
    es: "Poniendo un temporizador.",
    fr: "Je règle un minuteur.",
    ar: "أضبط مؤقتًا.",
    ja: "タイマーを設定しています。",
  },
  examples: {
    en: "Set a timer",
    es: "Pon un temporizador",
    fr: "Mets un minuteur",
    ar: "اضبط مؤقتا",
    ja: "タイマーをかけて",
  },
  keywords: {
    en: "timer alarm remind minutes",
    es: "temporizador alarma recuerdame minutos",
    fr: "minuteur alarme rappelle minutes",
    ar: "مؤقت منبه ذكرني دقائق",
    ja: "タイマー アラーム",
  },
  async play(context) {
    const { session } = context;
    const answer = await context.ask({
      question: {
        en: "How many minutes?",
        es: "¿Cuántos minutos?",
        fr: "Combien de minutes ?",
        ar: "كم دقيقة؟",
        ja: "何分にしますか。",
      },
      kinds: ["numeric"],
      default: 3,
    });
    const minutes = Math.min(10, Math.max(1, Math.round(Number(answer ?? 3))));
    for (let minute = 1; minute <= minutes; minute++) {
      await context.wait(1_000);
      const left = minutes - minute;
      await session.progress({
        percent: Math.round((minute / minutes) * 100),
        summary: {
          en: left === 0 ? "Time is up." : `${left} to go.`,
          es: left === 0 ? "Se acabó el tiempo." : `Faltan ${left}.`,
          fr: left === 0 ? "C'est l'heure." : `Encore ${left}.`,
          ar: left === 0 ? "انتهى الوقت." : `بقي ${left}.`,
          ja: left === 0 ? "時間です。" : `残り${left}。`,
        },
      });
    }
    await context.say({
      en: `The timer rang. Each of its ${minutes} minutes was a second long.`,
      es: `Ha sonado el temporizador. Cada minuto (${minutes}) duró un segundo.`,
      fr: `Le minuteur a sonné. Chaque minute (${minutes}) a duré une seconde.`,
      ar: `رن المؤقت. كانت كل دقيقة (${minutes}) ثانية واحدة.`,
      ja: `タイマーが鳴りました。1分は1秒として数えました（${minutes}）。`,
    });
    return PRETENDED;
  },
};

export const dinner: Scenario = {
  name: "dinner",
  about: "A choice of three, then a yes or no.",
  opening: {
    en: "Planning dinner.",
    es: "Planeando la cena.",
    fr: "Je prépare le dîner.",
    ar: "أخطط للعشاء.",
    ja: "夕食を考えています。",
  },
  examples: {
    en: "Plan dinner",
    es: "Planea la cena",
    fr: "Prévois le dîner",
    ar: "خطط للعشاء",
    ja: "夕食を考えて",
  },
  keywords: {
    en: "dinner cook recipe food eat choose",
    es: "cena cocina receta comida elegir",
    fr: "diner cuisine recette repas choisir",
    ar: "عشاء طبخ وصفه طعام اختر",
    ja: "夕食 料理 ごはん",
  },
  async play(context) {
    const dishes: Readonly<Record<string, Words>> = {
      soup: {
        en: "Lentil soup",
        es: "Sopa de lentejas",
        fr: "Soupe de lentilles",
        ar: "شوربة عدس",
        ja: "レンズ豆のスープ",
      },
      curry: {
        en: "Vegetable curry",
        es: "Curry de verduras",
        fr: "Curry de légumes",
        ar: "كاري بالخضار",
        ja: "野菜カレー",
      },
      rice: {
        en: "Rice with mushrooms",
        es: "Arroz con setas",
        fr: "Riz aux champignons",
        ar: "أرز بالفطر",
        ja: "きのこごはん",
      },
    };
    const dish = await context.ask({
      question: {
        en: "Which dish would you like?",
        es: "¿Qué plato quieres?",
        fr: "Quel plat voulez-vous ?",
        ar: "أي طبق تريد؟",
        ja: "どの料理にしますか。",
      },
      choices: Object.entries(dishes).map(([value, label]) => ({ value, label })),
      default: "soup",
    });
    const spicy = await context.ask({
      question: {
        en: "Should it be spicy?",
        es: "¿Lo quieres picante?",
        fr: "Le voulez-vous épicé ?",
        ar: "هل تريده حارًا؟",
        ja: "辛くしますか。",
      },
      kinds: ["yes_no"],
      default: false,
    });
    const name = dishes[String(dish)] ?? dishes["soup"]!;
    await context.say({
      en: `Dinner is ${name.en.toLowerCase()}, ${spicy ? "and it is spicy" : "and it is mild"}.`,
      es: `La cena es ${name.es.toLowerCase()}, ${spicy ? "picante" : "sin picante"}.`,
      fr: `Au dîner : ${name.fr.toLowerCase()}, ${spicy ? "épicé" : "doux"}.`,
      ar: `العشاء ${name.ar}، ${spicy ? "حار" : "غير حار"}.`,
      ja: `夕食は${name.ja}、${spicy ? "辛口" : "甘口"}です。`,
    });
    return PRETENDED;
  },
};
