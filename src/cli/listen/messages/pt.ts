import type { ListenMessages } from "./index.ts";

export const pt: ListenMessages = {
  language: "pt",
  greeting: (names) => `A ouvir ${names}. Escreva help e prima Enter para saber o que pode dizer.`,
  greetingKeys: (names) => `A ouvir ${names}. Prima o ponto de interrogação para obter ajuda.`,
  typedAhead: "O que escreveu antes de a pergunta terminar não conta. Responda agora.",
  pieceWaits: "Chegou um texto de uma só vez, como ao colar. Só é enviado quando premir Enter.",
  pieceNoAnswer:
    "Isso chegou de uma só vez, como ao colar, por isso não foi aceite como resposta. Escreva e prima Enter.",
  pipedNoYes:
    "Isto é irreversível ou de alto risco, e o que chega não vem de um teclado: aqui só se pode recusar. Para permitir, execute earshot listen num terminal.",
  dropped: (count) =>
    `Chegaram mais linhas ao mesmo tempo: ${count}. Não foram lidas, porque ninguém as pode ter querido uma a uma.`,
  unknown: (word) =>
    `«${word}» não é uma das minhas palavras, e não há nenhuma pergunta. Escreva help para ouvir as minhas palavras.`,
  gone: (name) =>
    `Continua sem haver notícias de ${name}. Pode ter sido parado. Continuo a tentar. Ctrl+C termina.`,
  answerWaits: "Agora não há ligação. A sua resposta sai quando ela voltar.",
  speechFailed:
    "A voz não funciona: nada disto foi dito em voz alta. Está tudo escrito aqui. «earshot doctor» diz mais.",
  nothingWaits: "Não há nada à espera.",
  waits: "Há algo à espera. Prima Enter para ler.",
  urgentWaits: "Há algo urgente à espera. Prima Enter para ler.",
  moreWait: (count) => (count === 1 ? " Há mais um à espera." : ` Há mais ${count} à espera.`),
  noPages: "Aqui não há nada a que voltar. A palavra history mostra o que foi dito.",
  left: "Deixou de ouvir. O agente continua sem si.",
  help: (word) => [
    "Escreva uma palavra e prima Enter.",
    `${word("yes")}: permitir o que é pedido. O que é arriscado ou irreversível é-lhe depois lido de novo.`,
    `${word("confirm")}: permitir, depois de lido de novo.`,
    `${word("no")}: recusar o que é pedido.`,
    "Um número: escolher essa opção. Outras palavras: a sua resposta, quando o agente pede uma.",
    `${word("more")}: mais tempo para responder.`,
    `${word("repeat")}: ouvir outra vez a pergunta, ou a última coisa.`,
    `${word("what")}: ouvir o que está a acontecer.`,
    "details: ouvir o código e os endereços que ficaram de fora.",
    "pause e resume: reter o que não é urgente, e pôr-se a par.",
    "history: as últimas dez coisas ditas. history 50: as últimas cinquenta.",
    "answer e umas palavras: enviar exatamente essas palavras, mesmo que sejam das minhas.",
    "quit, ou Ctrl+C: deixar de ouvir.",
  ],
  stepHelp: "Só Enter: a próxima coisa à espera.",
  brailleHelp: "Só Enter: avança na linha e depois para o que espera. back: recua.",
  keyHelp:
    "Teclas simples, sem Enter: n não, m mais tempo, r repetir, w o que se passa, d detalhes, p pausa, g retomar, 1 a 9 uma opção, espaço seguinte, b voltar, ponto de interrogação ajuda. Sim e confirmar não têm tecla: escreva a palavra e prima Enter. Enquanto o agente pede palavras ou um número, só contam as palavras.",
};
