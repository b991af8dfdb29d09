/** Files: an irreversible deletion, and a low-risk reversible act whose default is accept. */
import { PRETENDED, PRETENDS, recordIn, type Scenario, together } from "../scenario.ts";

export const deletion: Scenario = {
  name: "delete",
  about: "Deleting a record: high risk, cannot be undone.",
  opening: {
    en: "Looking for the record, as a demo.",
    es: "Buscando el registro, como demostración.",
    fr: "Je cherche la fiche, pour la démonstration.",
    ar: "أبحث عن السجل على سبيل العرض.",
    ja: "デモとして記録を探しています。",
  },
  tools: ["delete_record"],
  examples: {
    en: "Delete record 12345",
    es: "Borra el registro 12345",
    fr: "Supprime la fiche 12345",
    ar: "احذف السجل 12345",
    ja: "記録12345を削除して",
  },
  keywords: {
    en: "delete record remove erase irreversible",
    es: "borra borrar elimina registro",
    fr: "supprime supprimer efface fiche",
    ar: "احذف حذف امسح السجل سجل",
    ja: "削除 記録 消して",
  },
  async play(context) {
    const record = recordIn(context.request) ?? "12345";
    await context.wait(600);
    const deleted = await context.session.tool(
      {
        tool: "delete_record",
        summary: {
          en: "Deleting the record.",
          es: "Borrando el registro.",
          fr: "Je supprime la fiche.",
          ar: "أحذف السجل.",
          ja: "記録を削除しています。",
        },
        risk: "high",
        irreversible: true,
        params: { record },
        action: (shown) => ({
          en: `Delete record ${shown.record}.`,
          es: `Borrar el registro ${shown.record}.`,
          fr: `Supprimer la fiche ${shown.record}.`,
          ar: `حذف السجل ${shown.record}.`,
          ja: `記録${shown.record}を削除します。`,
        }),
        consequence: together(
          {
            en: "The record is gone for good. There is no copy.",
            es: "El registro desaparece para siempre. No hay copia.",
            fr: "La fiche disparaît pour toujours. Il n'y a pas de copie.",
            ar: "يختفي السجل نهائيًا، ولا توجد نسخة منه.",
            ja: "記録は完全に消えます。控えはありません。",
          },
          PRETENDS,
        ),
        labels: { record: { en: "Record", es: "Registro", fr: "Fiche", ar: "السجل", ja: "記録" } },
      },
      () => context.wait(900),
    );
    if (!deleted.ran) return context.refused(deleted.summary);
    await context.say({
      en: `I pretended to delete record ${record}.`,
      es: `He simulado borrar el registro ${record}.`,
      fr: `J'ai fait semblant de supprimer la fiche ${record}.`,
      ar: `تظاهرت بحذف السجل ${record}.`,
      ja: `記録${record}を削除したことにしました。`,
    });
    return PRETENDED;
  },
};

export const tidy: Scenario = {
  name: "tidy",
  about: "Tidying up: low risk, can be undone, and silence means yes.",
  opening: {
    en: "Looking at your downloads.",
    es: "Mirando tus descargas.",
    fr: "Je regarde vos téléchargements.",
    ar: "أنظر في ملفاتك المحملة.",
    ja: "ダウンロードを見ています。",
  },
  tools: ["move_to_trash"],
  examples: {
    en: "Tidy up my downloads",
    es: "Ordena mis descargas",
    fr: "Range mes téléchargements",
    ar: "رتب ملفاتي المحملة",
    ja: "ダウンロードを整理して",
  },
  keywords: {
    en: "tidy clean downloads files confirmation confirm action",
    es: "ordena limpia descargas archivos confirmacion",
    fr: "range nettoie telechargements fichiers confirmation",
    ar: "رتب نظف الملفات ملفاتي تاكيد",
    ja: "整理 片付け ダウンロード 確認",
  },
  async play(context) {
    const { session } = context;
    await context.wait(600);
    const agreed = await session.confirm({
      action: {
        en: "Move three old files to the trash.",
        es: "Mover tres archivos antiguos a la papelera.",
        fr: "Mettre trois vieux fichiers à la corbeille.",
        ar: "نقل ثلاثة ملفات قديمة إلى سلة المهملات.",
        ja: "古いファイルを3つゴミ箱に移します。",
      },
      consequence: together(
        {
          en: "They can be taken out again.",
          es: "Se pueden recuperar.",
          fr: "On peut les récupérer.",
          ar: "يمكن استعادتها.",
          ja: "元に戻せます。",
        },
        PRETENDS,
      ),
      risk: "low",
      irreversible: false,
      default: "accept",
    });
    if (!agreed.accepted) return context.refused(agreed.summary);
    for (let step = 1; step <= 3; step++) {
      await context.wait(500);
      await session.progress({ step, total_steps: 3 });
    }
    await context.say({
      en: "I pretended to move three files to the trash.",
      es: "He simulado mover tres archivos a la papelera.",
      fr: "J'ai fait semblant de mettre trois fichiers à la corbeille.",
      ar: "تظاهرت بنقل ثلاثة ملفات إلى سلة المهملات.",
      ja: "ファイルを3つゴミ箱に移したことにしました。",
    });
    return PRETENDED;
  },
};
