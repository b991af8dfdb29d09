import type { ListenMessages } from "./index.ts";

export const fr: ListenMessages = {
  language: "fr",
  greeting: (names) => `À l’écoute de ${names}. Tapez help puis Entrée pour savoir ce que vous pouvez dire.`,
  greetingKeys: (names) => `À l’écoute de ${names}. Appuyez sur le point d’interrogation pour l’aide.`,
  typedAhead: "Ce que vous avez tapé avant la fin de la question ne compte pas. Répondez maintenant.",
  pieceWaits:
    "Un texte est arrivé d’un seul bloc, comme un collage. Il n’est pas envoyé tant que vous n’appuyez pas sur Entrée.",
  pieceNoAnswer:
    "C’est arrivé d’un seul bloc, comme un collage, et n’a donc pas été pris pour une réponse. Tapez-le, puis appuyez sur Entrée.",
  pipedNoYes:
    "C’est irréversible ou très risqué, et ce que vous envoyez ne vient pas d’un clavier : ici on peut seulement refuser. Pour le permettre, lancez earshot listen dans un terminal.",
  dropped: (count) =>
    `D’autres lignes sont arrivées d’un coup : ${count}. Elles n’ont pas été lues, car personne n’a pu les vouloir une à une.`,
  unknown: (word) =>
    `« ${word} » n’est pas un de mes mots, et rien n’est demandé. Tapez help pour entendre mes mots.`,
  gone: (name) =>
    `Toujours aucune nouvelle de ${name}. Il a peut-être été arrêté. Je continue d’essayer. Ctrl+C termine.`,
  answerWaits: "Il n’y a pas de connexion en ce moment. Votre réponse partira quand elle reviendra.",
  speechFailed:
    "La voix ne fonctionne pas : rien de ceci n’a été dit. Tout est écrit ici. « earshot doctor » en dit plus.",
  nothingWaits: "Rien n’attend.",
  waits: "Quelque chose attend. Appuyez sur Entrée pour le lire.",
  urgentWaits: "Quelque chose d’urgent attend. Appuyez sur Entrée pour le lire.",
  moreWait: (count) => (count === 1 ? " Encore une chose attend." : ` Encore ${count} choses attendent.`),
  noPages: "Il n’y a rien à quoi revenir ici. Le mot history montre ce qui a été dit.",
  left: "Vous n’écoutez plus. L’agent continue sans vous.",
  help: (word) => [
    "Tapez un mot, puis appuyez sur Entrée.",
    `${word("yes")} : permettre ce qui est demandé. Ce qui est risqué ou irréversible vous est ensuite relu.`,
    `${word("confirm")} : le permettre, une fois relu.`,
    `${word("no")} : refuser ce qui est demandé.`,
    "Un nombre : prendre ce choix. D’autres mots : votre réponse, quand l’agent en demande une.",
    `${word("more")} : plus de temps pour répondre.`,
    `${word("repeat")} : réentendre la question, ou la dernière chose dite.`,
    `${word("what")} : entendre ce qui se passe.`,
    "details : entendre le code et les adresses qui ont été omis.",
    "pause et resume : retenir ce qui n’est pas urgent, et rattraper.",
    "history : les dix dernières choses dites. history 50 : les cinquante dernières.",
    "answer, puis des mots : envoyer exactement ces mots, même si ce sont des miens.",
    "quit, ou Ctrl+C : cesser d’écouter.",
  ],
  stepHelp: "Entrée seule : la prochaine chose qui attend.",
  brailleHelp: "Entrée seule : avancer sur la ligne, puis vers ce qui attend. back : reculer.",
  keyHelp:
    "Touches seules, sans Entrée : n non, m plus de temps, r répéter, w ce qui se passe, d détails, p pause, g reprendre, 1 à 9 un choix, espace suivant, b retour, point d’interrogation aide. Oui et confirmer n’ont pas de touche : tapez le mot et appuyez sur Entrée. Tant que l’agent demande des mots ou un nombre, seuls les mots comptent.",
};
