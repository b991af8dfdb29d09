// What the segmenter knows about languages: abbreviations that carry a full stop, and words that commonly open a
// sentence. Plain words in plain strings, because they compress well and a reader of the language can check them.
//
// Each language is `never|number|starter|end|dated`:
//   never    the stop after it does not end a sentence (titles, "e.g.")
//   number   does not end a sentence before a number ("No. 5", "Fig. 3")
//   starter  ends one only before a word that opens sentences ("Inc.", "U.S.")
//   end      ends one before a capital, though it looks like an initial ("etc.", "т. д.")
//   dated    after a number it may end one ("2020 г. Он"), otherwise never ("г. Москва")
// An entry opening with = is case sensitive. Stops inside an entry stay, spaces go: "z. B." is z.b.

export const SHARED =
  "dr prof vs cf e.g i.e approx mr mrs ms mme mlle mgr st|no nr n° nº p pp fig vol tel art|inc ltd co corp jr ph.d m.sc b.sc|etc|";

const HINDI = "डॉ डा श्री श्रीमती सुश्री प्रो प्रा पं कु|सं पृ क्र||आदि|";
const SERBO_CROATIAN =
  "mr doc ing npr tzv tj sv ul gen gđa gosp npr odn tzv нпр тзв тј св ул др проф|br str čl st sl tab tel pogl бр стр чл||itd i.sl i.dr god итд сл год|=g =r =г";
const NORWEGIAN =
  "f.eks bl.a dvs d.v.s ca inkl ekskl jf jfr kl pga evt ifm ift mht hr fr sml vedr bl|nr s kap art tlf fig stk bd jan feb mar apr jun jul aug sep sept okt nov des dec||osv mv m.m m.v mm o.l o.lign m.fl f.kr e.kr kr|";

export const ABBREVIATIONS: Record<string, string> = {
  en: "messrs rev hon gen sen rep gov pres lt col maj capt cmdr cpl sgt pvt adm brig supt insp =Fr =Br mt atty asst =v viz esp =ca incl excl a.k.a w.r.t n.b p.s|nos figs vols ch chap sec sect eq eqs par para pt pts ver max min avg ext app =b =d =c =n =Jan =Feb =Mar =Apr =Jun =Jul =Aug =Sep =Sept =Oct =Nov =Dec =Mon =Tue =Tues =Wed =Thu =Thur =Thurs =Fri =Sat =Sun|sr esq bros ave blvd rd st ste ft hwy bldg dept univ assn govt intl est =al ed eds =Calif =Fla =Mass =Penn =Conn =Ariz =Wash =Colo =Ill =Okla =Ore =Tenn =Va =Wis =Minn =Mich =Tex ed.d d.phil|ibid co.uk|",
  de: "hr fr hrn z.b d.h i.d.r z.t z.zt bzw ca evtl ggf gem sog vgl inkl exkl zzgl abzgl mind dipl ing mag insb bspw o.g u.u i.a m.e geb gest verh fa gez rd zw bes einschl lt i.v =z =d =u =i =o =s =v =m bspw u.a z.hd h.c frl max min ung =a|nrn s abs abb kap bd tab ziff rn mär dez okt jan feb apr jun jul aug sep sept nov anm|str mio mrd tsd std hrsg aufl e.v g.m.b.h a.m a.d|usw u.s.w usf u.v.m u.ä o.ä jh jhd jhs v.chr n.chr sek|",
  fr: "=M =MM pr ste p.ex c.-à-d env =av =apr boul bd tél ex éd st|chap t num n° nos janv févr avr juil sept oct nov déc pag|cie sté|j.-c av.j.-c apr.j.-c|",
  es: "sr sra srta sres dra =D dña lic ing arq profa gral cnel ee p.ej av avda sto sta aprox ej mons|núm nº n° pág págs cap tfno máx mín s ene feb mar abr jun jul ago sep sept oct nov dic|ee.uu ud uds vd s.a depto dpto cía|a.c d.c a.de.c|",
  pt: "sr sra srs sras srta dra drs profa eng arq exmo exma ilmo =D =V v.exa p.ex av pe gen cel aprox ex sto sta|nº n n.º pág págs cap séc núm jan fev mar abr mai jun jul ago set out nov dez|ltda cia s.a e.u.a|a.c d.c|",
  it: "sig sigg sig.ra dott dott.ssa prof.ssa avv ing arch geom rag on sen mons p.es es ad.es ca cfr gent.mo egr c.so v.le spett|n nn pag pagg artt cap sec gen genn feb febb mar apr mag magg giu lug ago sett ott nov dic|s.p.a s.r.l cit|ecc a.c d.c|",
  nl: "dhr mevr mw drs ir ing bijv bv o.a d.w.z m.b.t t.a.v i.v.m vgl ca resp incl excl max min ong zgn ds burg nl m.a.w t.o.v i.p.v evt o.l.v z.g.n|nrs blz afb hfst jan feb mrt apr jun jul aug sep sept okt nov dec|n.v b.v|enz e.d a.u.b v.chr n.chr jl|",
  sv: "hr fr t.ex bl.a d.v.s dvs s.k ca c:a resp inkl exkl jfr kl f.d p.g.a m.a.o ev f.n kungl s:t t.o.m fr.o.m|nr s sid kap bil jan feb apr aug sept okt nov dec||osv m.m m.fl o.s.v o.d e.kr f.kr kr|",
  da: NORWEGIAN,
  nb: NORWEGIAN,
  nn: NORWEGIAN,
  no: NORWEGIAN,
  fi: "esim ts tri hra rva =n mm ns vrt ks toim os synt ko em mm nk|nro s luku kpl puh||jne yms ym tms eaa jaa eKr jKr|",
  pl: "np tzn tj tzw hab inż ks św gen płk kpt ul al pl os im m.in ok ds por zob woj pow gm godz wg br|s str rys tab t ust pkt poz rozdz||itd itp n.e p.n.e zł|=r =w",
  cs: "např tzn tzv tj ing doc judr mudr phdr bc sv ul nám gen plk kpt popř resp vč cca =p mj př|č čís str s obr tab kap odst||atd apod aj př.n.l n.l hod kč|=r",
  sk: "napr tzn tzv t.j ing doc judr mudr sv ul nám resp =p cca|č str s obr tab kap ods||atď apod a.i|=r",
  hr: SERBO_CROATIAN,
  bs: SERBO_CROATIAN,
  sr: SERBO_CROATIAN,
  sl: "mag npr tj tim sv ul ga gdč oz t.i|št str čl sl tab||itd ipd itn|=g =l",
  ru: "ул пл пер бул просп им проф акад доц т.е т.к т.н т напр см ср св ген тел инж зав зам пом д-р гр о оз пос дер наб чл ст обл|рис стр с гл табл п пп ч д кв корп разд прим илл вып||т.д т.п др пр гг вв н.э руб коп тыс млн млрд долл мин сек|=г =в =р =ч",
  uk: "вул просп пл пров ім проф акад доц т т.з т.зв т.е т.к напр див св ген м о обл ст тел|рис с стор гл табл п ч буд кв||т.д т.п ін др рр н.е грн коп тис млн млрд|=р =г",
  be: "вул пл праф акад т т.е напр гл св|мал с стар||т.д т.п інш гг|=г",
  bg: "ул бул проф инж т.е т.нар св гр напр вж доц акад ген т|стр с гл фиг чл ал||др и.др т.н т.г лв|=г =в",
  mk: "ул бул проф д-р т.е т.н на.пр пр св гр|стр бр сл чл||итн др|=г",
  tr: "doç av sn müh yrd bkz örn m.ö m.s i̇.ö alb öğr|s sf şek bl md cilt|cad sok mah|vb vs vd vd|",
  az: "məs doç|s səh||və.s|",
  el: "κ κα κκ δρ καθ π.χ δηλ βλ αγ λ.χ πρβλ κος|αρ σελ κεφ τόμ εικ τηλ άρθ||κ.λπ κλπ κ.ά κ.ο.κ μ.χ π.μ μ.μ|",
  hu: "id ifj özv pl ún ill kb vö ld gr szt u.n|sz old fej||stb i.sz i.e|",
  ro: "dl dna d-na ing av sf str bd bul ex gen col cca aprox|pag alin cap sec|s.a s.r.l|ș.a ș.a.m.d d.hr î.hr|",
  ca: "sr sra dra p.ex av sta|núm pàg cap s||aC dC|",
  gl: "sr sra dra p.ex av|núm páx cap||a.c d.c|",
  id: "drs ir =H hj tn ny sdr jl jln yth bpk mis|hlm hal pasal gbr bab|tbk =PT|dll dsb dst dkk|",
  ms: "en pn cik sdr yb jln|ms hlm||dll dsb|",
  vi: "=TP =Tp =TS =ThS =GS =PGS =BS =KS =TT =Q =P =Ths|tr||v.v|",
  lt: "pvz t.y pr vad žr|psl||t.t kt pan|=m =g",
  lv: "piem t.i|lpp||utt u.c u.tml|",
  et: "nt ca u hr pr|lk||jne jt jms|",
  is: "t.d þ.e u.þ.b próf|bls kl||o.s.frv o.fl|",
  eu: "adib jn and|or zk||etab|",
  sq: "z znj p.sh|f||etj|",
  af: "mnr mev bv m.a.w d.w.s|bl||ens|",
  sw: "bw bi dk mh k.m|na uk||n.k|",
  tl: "=G gng bb atty hal||||",
  fil: "=G gng bb atty hal||||",
  eo: "ekz d-ro s-ro t.e||| k.t.p ktp|",
  ka: "მაგ ე.ი|გვ||ა.შ|",
  hi: HINDI,
  mr: HINDI,
  ne: HINDI,
  bn: "ড ডা মো মি ডক্টর অধ্যা প্রফে|পৃ নং|||",
  gu: "ડૉ ડો શ્રી પ્રો||||",
  pa: "ਡਾ ਸ਼੍ਰੀ ਪ੍ਰੋ||||",
  ta: "திரு திருமதி டாக்டர் பேரா டாக் முனைவர்|எண் பக்|||",
  te: "డా శ్రీ ప్రొ||||",
  kn: "ಡಾ ಶ್ರೀ ಪ್ರೊ||||",
  ml: "ഡോ ശ്രീ പ്രൊഫ||||",
  ar: "د أ م|ص ت||إلخ الخ|",
};

const DANISH =
  "Han Hun Den Det De Vi Jeg Du Men Og Så Da Når Hvis Der Her Et En I På Til Med Efter Etter Hva Hvad Hvor Hvordan Derfor Dette Denne Disse Nå Nu";

/** Words that open a sentence far more often than they continue a name. */
export const STARTERS: Record<string, string> = {
  en: "He She They We It I You The Then This That These Those There Their His Her Its Our My Your In On At As And But So Or If When While After Before What Why How Who Where Which Is Are Was Were Do Does Did Can Could Would Should Please Let For However Also Now Here Yes Not Some Many Most All Each Both To From By With Since Because Although Though Thus Therefore Meanwhile Later Today Yesterday Tomorrow Once Finally Have Has Had A An Press Click Tap Select Choose Run Try Use Enter Nobody Everyone Someone Nothing Everything Don Isn Another",
  de: "Der Die Das Den Dem Ein Eine Einen Er Sie Es Wir Ich Ihr Du Man Dann Danach Aber Und Oder Doch Wenn Als Da Dort Hier Im In Am An Auf Bei Mit Nach Von Vor Zu Für Wie Was Wer Wo Warum Nun So Auch Jetzt Heute Gestern Diese Dieser Dieses Sein Seine Ihre Mein Meine Unser Kein Keine Nicht Nur Noch Später Bitte Ist Sind Hat Haben Kann Wird Damit Deshalb Daher Trotzdem Alle Viele Ja Nein Niemand",
  fr: "Il Elle Ils Elles On Nous Vous Je Tu Le La Les Un Une Des Ce Cette Ces Cela Mais Et Puis Alors Ensuite Dans En Pour Par Avec Si Quand Comme Son Sa Ses Leur Notre Votre Qui Que Où Comment Pourquoi Est Voici Voilà Ici Aujourd Hier Demain Merci Après Avant Depuis Ça",
  es: "El La Los Las Un Una Él Ella Ellos Nosotros Yo Tú Usted Pero Y Luego Después Entonces En Para Por Con Si Cuando Como Su Sus Esto Este Esta Estos Eso Ese Qué Cómo Cuándo Dónde Quién Hoy Ayer Mañana También No Sí Es Hay Gracias Ahora Allí Aquí",
  pt: "O A Os As Um Uma Ele Ela Eles Elas Nós Eu Você Mas E Depois Então Em No Na Para Por Com Se Quando Como Seu Sua Isto Isso Este Esta Esse Essa Que Onde Hoje Ontem Amanhã Também Não Sim É Há Obrigado Agora",
  it: "Il Lo La I Gli Le Un Una Lui Lei Loro Noi Io Tu Voi Ma E Poi Dopo Allora In Per Con Se Quando Come Suo Sua Questo Questa Questi Quello Che Chi Dove Perché Oggi Ieri Domani Anche Non È Sono Grazie Ora Si",
  nl: "De Het Een Hij Zij Ze Wij We Ik Jij Je U Maar En Toen Daarna Dan Dat Dit Deze Die Er In Op Van Voor Met Als Wanneer Wat Waar Hoe Wie Waarom Nu Vandaag Gisteren Morgen Ook Niet Zijn Haar Hun Is",
  sv: "Han Hon Den Det De Vi Jag Du Men Och Sedan Sen Då När Om Där Här Ett En I På Till Med Efter Vad Var Hur Varför Därför Detta Denna Dessa Nu Idag",
  da: DANISH,
  nb: DANISH,
  nn: DANISH,
  no: DANISH,
  fi: "Hän He Se Ne Me Minä Sinä Te Mutta Ja Sitten Kun Jos Tämä Nämä Siellä Täällä Nyt Mikä Missä Miten Miksi",
  pl: "On Ona Ono Oni One My Ja Ty To Ten Ta Te Ale I A Potem Następnie Gdy Jeśli Kiedy W Na Do Z Po Co Gdzie Jak Dlaczego Teraz Dziś Wczoraj Nie Tak Jego Jej Jest",
  cs: "On Ona Ono Oni My Já Ty To Ten Ta Ti Ale A Pak Potom Když Pokud V Na Do S Po Co Kde Jak Proč Teď Dnes Včera Ne Ano Jeho Její Je",
  sk: "On Ona Ono Oni My Ja Ty To Ten Tá Ale A Potom Keď Ak V Na Do Čo Kde Ako Prečo Teraz Dnes Včera Nie Áno Je",
  hr: "On Ona Ono Oni Mi Ja Ti To Taj Ta Ali I A Zatim Onda Kad Kada Ako U Na Do Što Gdje Kako Zašto Sada Danas Jučer Ne Da Je",
  sl: "On Ona Ono Oni Mi Jaz Ti To Ta Ampak In Nato Potem Ko Če V Na Kaj Kje Kako Zakaj Zdaj Danes Včeraj Ne Da Je",
  ru: "Он Она Оно Они Мы Я Ты Вы Это Этот Эта Эти Но И А Потом Затем Когда Если В На По С Что Где Как Почему Кто Сейчас Сегодня Вчера Не Да Нет Там Тут Его Её Их",
  uk: "Він Вона Воно Вони Ми Я Ти Ви Це Цей Ця Ці Але І А Потім Коли Якщо В У На Що Де Як Чому Хто Зараз Сьогодні Вчора Не Так Ні Там Тут Його Її",
  bg: "Той Тя То Те Ние Аз Ти Вие Това Този Тази Но И А После След Когато Ако В На Какво Къде Как Защо Сега Днес Вчера Не Да",
  tr: "O Onlar Biz Ben Sen Siz Bu Şu Ama Ve Sonra Daha Eğer Ne Nerede Nasıl Neden Kim Şimdi Bugün Dün Bir Bunlar Ancak Fakat",
  el: "Ο Η Το Οι Τα Αυτός Αυτή Αυτό Εμείς Εγώ Εσύ Εσείς Αλλά Και Μετά Ύστερα Όταν Αν Στο Στη Στην Στον Τι Πού Πώς Γιατί Ποιος Τώρα Σήμερα Χθες Δεν Ναι Όχι Είναι Ένας Μια",
  hu: "Ő Ők A Az Mi Én Te Ti De És Aztán Majd Ha Amikor Ez Ezek Itt Ott Most Ma Tegnap Nem Igen Egy Hol Hogyan Miért Ki",
  ro: "El Ea Ei Ele Noi Eu Tu Voi Dar Și Apoi După Când Dacă În La Pe Un O Acest Această Aceasta Ce Unde Cum Azi Ieri Nu Da Este",
  ca: "El La Els Les Un Una Ell Ella Ells Nosaltres Jo Tu Però I Després Llavors En Per Amb Si Quan Com Això Aquest Aquesta Què On Avui Ahir No Sí És",
  id: "Dia Ia Mereka Kami Kita Saya Aku Anda Kamu Ini Itu Tetapi Namun Dan Lalu Kemudian Jika Ketika Di Ke Dari Apa Siapa Mana Bagaimana Mengapa Sekarang Hari Kemarin Tidak Ya",
  vi: "Anh Chị Ông Bà Họ Chúng Tôi Bạn Đây Đó Nhưng Và Sau Rồi Khi Nếu Ở Trong Hôm Không Có Ai",
};

/** Languages that write an ordinal as a number with a stop: a lone number with a stop before a number is a date. */
export const ORDINAL = "de da nb nn no fi et lv lt cs sk sl hr sr bs hu pl tr is fo eu ko mk";

export const GERMAN_BEFORE_ORDINAL =
  "am der die das den dem des vom zum im beim ab bis seit zur ins und jeder jede jeden ihr sein mein unser dessen deren";
export const GERMAN_AFTER_ORDINAL =
  "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Jänner Feber Jahrhundert Jahrhunderts Weltkrieg Weltkriegs Klasse Platz Stock Etage Liga Mal Tag Runde Auflage Semester Quartal Halbjahr Bundesliga Kapitel Geburtstag Jahrestag Advent Preis";

/** After a time of day these go on with it: "5 p.m. Monday", "6 a.m. Eastern". */
export const AFTER_TIME =
  "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Tues Wed Thu Thurs Fri Sat Sun January February March April May June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec EST EDT CST CDT MST MDT PST PDT ET PT CT MT UTC GMT BST CET CEST IST JST Eastern Pacific Central Mountain Local";
export const TIME_LEAD_IN = "At By On Around From Since Until Before After In Every Between";

/** Who says a quotation: “Stop!” John said. */
export const SPEECH =
  "said says asked asks replied cried shouted yelled whispered exclaimed answered added called muttered";

/** Names that carry an exclamation mark. */
export const SHOUTED_NAMES = "Yahoo Jeopardy Yum Joomla Chips Wham Panic Oklahoma Mamma";

/** Programs whose lowercase names open sentences in answers about them. */
export const LOWERCASE_NAMES = "npm npx pnpm pip git curl";
