import type { ListenMessages } from "./index.ts";

export const es: ListenMessages = {
  language: "es",
  greeting: (names) => `Escuchando a ${names}. Escribe help y pulsa Intro para saber qué puedes decir.`,
  greetingKeys: (names) => `Escuchando a ${names}. Pulsa el signo de interrogación para obtener ayuda.`,
  typedAhead: "Lo que escribiste antes de que terminara la pregunta no cuenta. Responde ahora.",
  pieceWaits: "Llegó un texto de una sola vez, como al pegar. No se envía hasta que pulses Intro.",
  pieceNoAnswer:
    "Eso llegó de una sola vez, como al pegar, así que no se tomó como respuesta. Escríbelo y pulsa Intro.",
  pipedNoYes:
    "Esto es irreversible o de alto riesgo, y lo que llega no viene de un teclado: aquí solo se puede rechazar. Para permitirlo, ejecuta earshot listen en un terminal.",
  dropped: (count) =>
    `Llegaron otras líneas de golpe: ${count}. No se leyeron, porque nadie puede haberlas querido una por una.`,
  unknown: (word) =>
    `«${word}» no es una de mis palabras, y no hay ninguna pregunta abierta. Escribe help para oír mis palabras.`,
  gone: (name) =>
    `Sigue sin haber noticias de ${name}. Puede que se haya detenido. Lo sigo intentando. Con Ctrl+C se termina.`,
  answerWaits: "Ahora no hay conexión. Tu respuesta saldrá cuando vuelva.",
  speechFailed:
    "La voz no funciona: nada de esto se ha dicho en voz alta. Todo está escrito aquí. «earshot doctor» dice más.",
  nothingWaits: "No hay nada esperando.",
  waits: "Hay algo esperando. Pulsa Intro para leerlo.",
  urgentWaits: "Hay algo urgente esperando. Pulsa Intro para leerlo.",
  moreWait: (count) => (count === 1 ? " Espera uno más." : ` Esperan ${count} más.`),
  noPages: "Aquí no hay nada a lo que volver. La palabra history muestra lo que se dijo.",
  left: "Has dejado de escuchar. El agente sigue sin ti.",
  help: (word) => [
    "Escribe una palabra y pulsa Intro.",
    `${word("yes")}: permite lo que se pide. Lo arriesgado o irreversible se te vuelve a leer después.`,
    `${word("confirm")}: lo permite, después de que se te haya vuelto a leer.`,
    `${word("no")}: rechaza lo que se pide.`,
    "Un número: elige esa opción. Otras palabras: tu respuesta, cuando el agente pide una.",
    `${word("more")}: más tiempo para responder.`,
    `${word("repeat")}: oír otra vez la pregunta, o lo último.`,
    `${word("what")}: oír qué está pasando.`,
    "details: oír el código y las direcciones que se omitieron.",
    "pause y resume: retener lo que no es urgente, y ponerse al día.",
    "history: las diez últimas cosas que se dijeron. history 50: las cincuenta últimas.",
    "answer y unas palabras: enviar exactamente esas palabras, aunque sean de las mías.",
    "quit, o Ctrl+C: dejar de escuchar.",
  ],
  stepHelp: "Intro solo: lo siguiente que espera.",
  brailleHelp: "Intro solo: avanza por la línea y luego a lo que espera. back: retrocede.",
  keyHelp:
    "Teclas sueltas, sin Intro: n no, m más tiempo, r repetir, w qué pasa, d detalles, p pausa, g reanudar, 1 a 9 una opción, espacio siguiente, b atrás, signo de interrogación ayuda. Sí y confirmar no tienen tecla: escribe la palabra y pulsa Intro. Mientras el agente pide palabras o un número, solo cuentan las palabras.",
};
