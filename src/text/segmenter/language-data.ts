// Language data of the segmenter: abbreviations written with a full stop, and words that commonly start a sentence.
// Plain words in plain strings, because they compress well and speakers of the language can check them.
//
// Each language is `never|number|starter|end|dated`:
//   never    the stop after it does not end a sentence (titles, "e.g.")
//   number   does not end a sentence before a number ("No. 5", "Fig. 3")
//   starter  ends one only before a word that starts sentences ("Inc.", "U.S.")
//   end      ends one before a capital, though it looks like an initial ("etc.", "т. д.")
//   dated    after a number it may end one ("2020 г. Он"), otherwise never ("г. Москва")
// An entry starting with = is case sensitive. Stops inside an entry stay, spaces go: "z. B." is z.b.

export const SHARED =
  "dr prof vs cf e.g i.e approx mr mrs =Ms mme mlle mgr st|no nr n° nº p pp fig vol tel art|inc ltd co corp jr ph.d m.sc b.sc|etc|";

const HINDI =
  "डॉ डा श्री श्रीमती सुश्री प्रो प्रा पं कु स्व इं ले ए बी सी डी एफ एच जे के एल एम एन पी आर एस टी यू वी डब्ल्यू|सं पृ क्र रु नं||आदि|";
const SERBO_CROATIAN =
  "mr doc ing npr tzv tj sv ul gen gđa gosp odn нпр тзв тј св ул др проф mag sc prim spec dipl oec iur med akad prof inž arh odv gđica tzn usp prev ur red puk kap mons дипл инж акад доц гђа госп одн мр|br str čl st sl tab tel pogl бр стр чл toč knj al pril ст таб тел књ ал|d.o.o d.d|itd i.sl i.dr god итд сл год min mil mlrd tis pr.kr дин|=g =r =г";
const NORWEGIAN =
  "f.eks bl.a dvs d.v.s ca inkl ekskl jf jfr kl pga evt ifm ift mht hr fr sml vedr bl adv dir cand mag ing adr alm ang d.d fhv fmd forf gl iflg i.h.t jvf kgl m.h.t m.a.o o.a p.g.a p.t ref t.o.m tidl udg vha s.k såk|nr s kap art tlf fig stk bd jan feb mar apr jun jul aug sep sept okt nov des dec afd avd pkt sp vol tab ill lør søn man tir ons tor fre||osv mv m.m m.v mm o.l o.lign m.fl f.kr e.kr kr o.s.v mill mio mrd|";

export const ABBREVIATIONS: Record<string, string> = {
  en: "messrs =Rev =Hon =Gen =Sen =Rep =Gov =Pres =Lt =Col =Maj capt cmdr cpl sgt =Pvt =Adm =Brig supt insp =Fr =Br =Mt atty asst =v viz esp =ca incl excl a.k.a w.r.t n.b p.s mx =Amb =Det =Cllr =Msgr =Cdr =Pfc =Spc attn|nos figs vols ch chap sec sect eq eqs par para pts ver max min avg ext app =b =d =c =n =Jan =Feb =Mar =Apr =Jun =Jul =Aug =Sep =Sept =Oct =Nov =Dec =Mon =Tue =Tues =Wed =Thu =Thur =Thurs =Fri =Sat =Sun rev ep bk pg pgs cl rte rt|sr esq bros ave blvd rd st ste ft hwy bldg dept univ assn govt intl est =al ed eds =Calif =Fla =Mass =Penn =Conn =Ariz =Wash =Colo =Ill =Okla =Ore =Tenn =Va =Wis =Minn =Mich =Tex ed.d d.phil =Sec apt rm fl pkwy ln ct pl sq ter cir mfg misc div natl assoc supp deg =Pt =Ala =Ark =Del =Ga =Ind =Kan =Ky =La =Md =Miss =Mo =Mont =Neb =Nev =Pa =Vt =Wyo =Ont =Que =Ft|ibid co.uk|",
  de: "=Hr =Fr hrn z.b d.h i.d.r z.t z.zt bzw ca evtl ggf gem sog vgl inkl exkl zzgl abzgl mind dipl =Ing =Mag insb bspw o.g u.u i.a m.e geb gest verh fa gez rd zw bes einschl lt i.v =z =d =u =i =o =s =v =m u.a z.hd h.c frl ung =a dt eigtl engl frz lat allg bez betr ders hl jun med phil jur rer nat dres habil i.allg n.b u.v.a v.a zit urspr ugs od a.d ähnl entspr vorm tägl wg|nrn max min s abs abb kap bd tab ziff rn mär dez okt jan feb apr jul aug sep sept nov anm abschn bl bsp pos hj =Mo =Di =Mi =Do =Sa =So|str mio mrd tsd std hrsg aufl e.v g.m.b.h a.m|usw u.s.w usf u.v.m u.ä o.ä jh jhd jhs v.chr n.chr sek|",
  fr: "=M =MM pr ste p.ex c.-à-d env =av =apr boul bd tél éd st sr vve bibl|chap t num n° nos janv févr avr juil sept oct nov déc pag art al ann réf tab sect liv min max|cie sté|j.-c av.j.-c apr.j.-c|",
  es: "sr sra srta sres dra =D dña lic ing arq profa gral cnel ee p.ej av avda sto sta aprox ej mons sras srtas dras ilmo ilma excmo excma fr pbro pdte hno hna pza plza ctra urb pto ntra sgto tte cmdte|núm nº n° pág págs cap tfno máx mín s ene feb mar abr jun jul ago sep sept oct nov dic ref arts figs vols párr apdo km exp tít|ee.uu ud uds vd s.a depto dpto cía c.p ltda s.l hnos|a.c d.c a.de.c|",
  pt: "sr sra srs sras srta dra drs profa eng arq exmo exma ilmo =D =V v.exa p.ex av =Pe =Gen =Cel aprox ex sto sta dras ilma prof.ª rev fr r al pç pça rod estr tv jd ten maj|nº n n.º pág págs cap séc núm jan fev mar abr mai jun jul ago set out nov dez tab ed fl fls min max km apto ap bl|ltda cia s.a e.u.a|a.c d.c|",
  it: "sig sigg sig.ra dott dott.ssa prof.ssa avv ing arch geom rag =On =Sen mons p.es es ad.es ca cfr gent.mo egr c.so v.le spett sig.na sigg.ri dott.ri dr.ssa ill.mo rev card p.za p.zza p.le l.go|n nn pag pagg artt cap sec genn feb febb mar apr mag magg giu lug ago sett ott nov dic tab lett cell int|s.p.a s.r.l cit gen sen|ecc a.c d.c|",
  nl: "dhr mevr mw drs ir ing bijv bv o.a d.w.z m.b.t t.a.v i.v.m vgl ca resp incl excl ong zgn ds burg nl m.a.w t.o.v i.p.v evt o.l.v z.g.n st jhr past fam red geb d.d m.i m.n n.a.v o.b.v o.g p.a t.b.v t.n.v i.h.a c.q|nrs max min blz afb hfst jan feb mrt apr jun jul aug sep sept okt nov dec par pag tab bijl ma wo vr za|n.v b.v|enz e.d a.u.b v.chr n.chr jl e.v e.a m.m a.s|",
  sv: "hr fr t.ex bl.a d.v.s dvs s.k ca c:a resp inkl exkl jfr kl f.d p.g.a m.a.o ev f.n kungl s:t t.o.m fr.o.m prof doc dir ing kand fil jur med tekn mag adv kapt ang anm enl eg eng f.ö m.h.t|nr s sid kap bil jan feb apr aug sept okt nov dec avd bd fig tab vol tfn pkt mån tis ons tors fre lör sön tr||osv m.m m.fl o.s.v o.d e.kr f.kr kr o.dyl e.dyl|",
  da: NORWEGIAN,
  nb: NORWEGIAN,
  nn: NORWEGIAN,
  no: NORWEGIAN,
  fi: "esim ts tri hra rva =n mm ns vrt ks toim os synt ko em nk dos dipl ins maist toht arkkit rov past|nro s luku kpl puh ss taul kuva|mrd milj|jne yms ym tms eaa jaa eKr jKr jms|",
  pl: "np tzn tj tzw hab inż ks św gen płk kpt ul =al =pl =os =im m.in =ok ds por zob woj pow gm godz wg br lic ppłk mjr ppor sierż bp abp kard bł ww dot ew wzgl red tłum oprac cyt ang niem łac śp m.st|s str rys tab t m ust pkt poz rozdz ss tabl par zał ryc fot wewn lok nast||itd itp n.e p.n.e zł tys mln mld|=r =w",
  cs: "např tzn tzv tj ing doc judr mudr phdr bc sv ul nám gen plk kpt popř resp vč cca =p mj př kupř arch mvdr rndr paedr thdr pplk mjr por npor tř nábř t.č příp red přel angl něm lat st ml|č čís str s obr tab kap odst čl písm par roč příl|csc drsc|atd apod aj př.n.l n.l hod kč min tis mil mld|=r",
  sk: "napr tzn tzv t.j ing doc judr mudr sv ul nám resp =p cca tj mgr bc phdr mvdr rndr paedr thdr gen plk pplk mjr kpt t.č príp popr vyd red angl nem lat st ml|č str s obr tab kap ods čís čl písm zv roč príl|csc drsc|atď apod a.i hod min tis mil mld|=r",
  hr: SERBO_CROATIAN,
  bs: SERBO_CROATIAN,
  sr: SERBO_CROATIAN,
  sl: "mag npr tj tim sv ul ga gdč oz t.i doc dipl inž univ ekon odv gosp gen polk t.j ur prev red roj um|št str čl sl tab pogl odst tč pril|d.o.o s.p|itd ipd itn idr min mio mrd|=g =l",
  ru: "ул пл пер бул просп им проф акад доц т.е т.к т.н напр см ср св ген тел инж зав зам пом д-р гр о оз пос дер наб чл ст обл пр-т ш мкр респ канд ред сост авт т.о т.наз полк лейт кап тов англ нем лат греч букв прибл вкл искл соотв цит преп мл чл.-корр|рис стр с гл табл п пп ч д кв корп разд прим илл вып сс тт оп лит эт под доб каб ауд оф абз фиг кн т||т.д т.п др пр гг вв н.э руб коп тыс млн млрд долл мин сек проч нед мес чел шт экз|=г =в =р =ч",
  uk: "вул просп пл пров ім проф акад доц т.з т.зв т.е т.к напр див св ген м о обл тел наб бульв мкр смт канд гр пор полк ред прибл бл англ нім лат грец|рис с стор гл табл п ч буд кв сс пп корп розд прим вип оф каб кн абз т ст||т.д т.п ін др рр н.е грн коп тис млн млрд т.ін хв сек дол чол шт|=р =г",
  be: "вул пл праф акад т.е напр св зав дац т.зв абл рэд|мал с стар гл табл п ч д кв т арт||т.д т.п інш гг руб кап тыс млн млрд|=г",
  bg: "ул бул проф инж т.е т.нар св гр напр вж доц акад ген пл кв ж.к общ обл арх полк кап т.к срв вкл изкл ок прибл ред|стр с гл фиг чл ал табл ил кн ет ап вх бл бр тел т||др и.др т.н т.г лв хил млн млрд мин сек ст н.е|=г =в",
  mk: "ул бул проф д-р т.е т.н на.пр пр св гр пл доц акад инж т.нар ген|стр бр сл чл гл таб тел т ст||итн др и.др мин ден н.е|=г",
  tr: "doç av sn müh yrd bkz örn m.ö m.s i̇.ö alb öğr mim gör uzm op ecz dt vet gen yzb krş çev haz yay a.g.e müd|s sf şek bl md cilt ss res tab böl mad no dk tel|cad sok mah sk blv bulv apt a.ş şti t.c|vb vs vd|",
  az: "məs doç dos bax b.e.ə|s səh şək cəd c|küç pros|və.s və.i.a|",
  el: "κ κα κκ δρ καθ π.χ δηλ βλ αγ λ.χ πρβλ κος οδ λεωφ μτφ επιμ στρ αρχ κυρ|αρ σελ κεφ τόμ εικ τηλ άρθ σ σσ τ τχ σχ πίν άρθρ παρ εδ ιαν φεβ απρ ιουν ιουλ αυγ σεπ οκτ νοε δεκ||κ.λπ κλπ κ.ά κ.ο.κ μ.χ π.μ μ.μ κτλ κ.τ.λ =π.Χ =μ.Χ|",
  hu: "id ifj özv pl ún ill kb vö ld gr szt u.n bp okl szerk ford ui tkp|sz old fej o bek tábl kt u em krt r||stb i.sz i.e kr.e kr.u ft|",
  ro: "dl dna d-na ing av sf str bd bul ex gen col cca aprox d-l d-lui arh ec conf lect asist acad cpt plt pr șos sos int resp op cit d.ex|pag cap sec p alin lit tab et bl sc ap sect pct|s.a s.r.l|ș.a ș.a.m.d d.hr î.hr|",
  ca: "sr sra dra p.ex av sta srs sres dr dres pl ctra c aprox|núm pàg cap s fig vol art tel||aC dC a.c d.c etc|",
  gl: "sr sra dra p.ex srs dna av rúa|núm páx cap fig vol art tel pax||a.c d.c|",
  id: "drs ir =H hj tn ny sdr jl jln yth bpk mis dra nn sdri gg kh ust kapt kol letjen a.n u.p kab kec kel prov|hlm hal pasal gbr bab jil tab ed telp rt rw lt km|tbk =PT cv|dll dsb dst dkk|",
  ms: "=En =Pn cik sdr yb jln sdri tn hj hjh yab kg lrg tmn spt cth|ms hlm hal bil jil bab||dll dsb dst|",
  vi: "=TP =Tp =TS =ThS =GS =PGS =BS =KS =TT =Q =P =Ths =LS =NS =CN =TX =H =X =Đ|tr đt||v.v|",
  lt: "pvz t.y pr vad žr plg doc akad gen plk ltn kpt mjr kun vysk šv gyd inž red vert liet angl vok|psl p pav lent sk str dal t d val min sek kab but|m g a aikšt pl r raj sav|t.t kt pan|",
  lv: "piem t.i t.s doc akad sk salīdz apm aptuv inž ģen plkv kpt red tulk angl vāc|lpp nod att tab p plkst tālr sēj kab|g gs raj nov pag|utt u.c u.tml u.t.t|",
  et: "nt ca u hr pr näit dots akad mag kol maj kpt vt vrd s.t s.o lüh tlk toim ld|lk joon tab ptk lg p kd|tn mnt pst|jne jt jms jpm jts vms|",
  is: "t.d þ.e u.þ.b próf sr þ.e.a.s s.s m.a a.m.k skv sbr sk nk m.ö.o|bls kl gr mgr tbl||o.s.frv o.fl o.þ.h f.h e.h kr f.kr e.kr|",
  eu: "adib jn and dr it lag|or zk irud taul||etab e.a|",
  sq: "z znj p.sh znjsh d.m.th rr|f fq art kap vol||etj e.t.j|",
  af: "mnr mev bv m.a.w d.w.s mej ds adv d.i nl o.a i.p.v t.o.v m.b.t gen kol kapt sers insp|bl bls par hfst||ens e.d e.a|",
  sw: "bw bi dk mh k.m bib dkt mhe k.v|na uk nam||n.k k.k|",
  tl: "=G gng bb atty dra kgg gob sen|hal|||",
  fil: "=G gng bb atty dra kgg gob sen|hal|||",
  eo: "ekz d-ro s-ro t.e||| k.t.p ktp|",
  ka: "მაგ ე.ი პროფ აკად დოც იხ შდრ რედ|გვ ნახ ცხრ ტ სურ ტელ|წ წწ ს საუკ|ა.შ სხვ|",
  hi: HINDI,
  mr: HINDI,
  ne: HINDI,
  bn: "ড ডা মো মি ডক্টর অধ্যা প্রফে অধ্যাপক ইঞ্জি এড বি সি ডি এফ এইচ জে কে এল এম এন পি আর এস টি ভি|পৃ নং রু টাঃ|||",
  gu: "ડૉ ડો શ્રી પ્રો શ્રીમતી કુ સ્વ બી સી ડી એફ એચ જે કે એલ એમ એન પી આર એસ ટી વી|રૂ નં પૃ|||",
  pa: "ਡਾ ਸ਼੍ਰੀ ਪ੍ਰੋ ਸ੍ਰੀ ਸ ਐਸ ਐਮ ਐਨ ਕੇ ਆਰ|ਰੁ ਨੰ|||",
  ta: "திரு திருமதி டாக்டர் பேரா டாக் முனைவர் செல்வி திருமிகு பி சி டி எஃப் ஜி எச் ஜே கே எல் எம் என் ஆர் எஸ் வி யு|எண் பக் ரூ|||",
  te: "డా శ్రీ ప్రొ శ్రీమతి బి సి డి ఎఫ్ జి హెచ్ జె కె ఎల్ ఎం ఎన్ పి ఆర్ ఎస్ టి వి|రూ నం|||",
  kn: "ಡಾ ಶ್ರೀ ಪ್ರೊ ಶ್ರೀಮತಿ ಬಿ ಸಿ ಡಿ ಎಫ್ ಜಿ ಎಚ್ ಜೆ ಕೆ ಎಲ್ ಎಂ ಎನ್ ಪಿ ಆರ್ ಎಸ್ ಟಿ ವಿ|ರೂ ನಂ|||",
  ml: "ഡോ ശ്രീ പ്രൊഫ ശ്രീമതി ബി സി ഡി എഫ് ജി എച്ച് ജെ കെ എൽ എം എൻ പി ആർ എസ് ടി വി|രൂ നം|||",
  ar: "د أ م أ.د ص.ب|ص ت ج ش||إلخ الخ|",
  fa: "ر.ک|ص ج ش|ق.م ه.ش ه.ق||",
  kk: "проф акад доц мыс қар|б бет сур кес т үй пәт|ж жж ғ қ ауд обл көш|т.б т.с.с т.т|",
  ky: "проф акад доц мис|б бет сүр|ж кк|ж.б д.у.с|",
  uz: "prof dots akad mas|b bet rasm uy|y yy koʻch|h.k va.h.k|",
  mn: "ж.нь проф акад доц|х|он|г.м г.м.т|",
  hy: "դոկտ պրոֆ ակադ դոց պ տ տիկ ք փ փող պող տես ինժ գեն օր|էջ նկ աղ գլ հ|թ թթ դ|այլն|",
  ga: "uas m.sh lgh|lch||srl|",
  cy: "e.e h.y|tud||ayyb|",
  zu: "mnu nksz nkk dkt||||",
  xh: "mnu nksz nkszn gqr||||",
  ha: "mal alh haj|||d.s|",
  th: "ดร นพ พญ ผศ รศ ทพ ภก|โทร||กทม|",
  lo: "ດຣ||||",
};

const SERBIAN =
  "On Ona Ono Oni Mi Ja Ti To Taj Ta Ali I A Zatim Onda Kad Kada Ako U Na Do Što Gdje Kako Zašto Sada Danas Jučer Ne Da Je Šta Gde Zatim Juče Danas Sad Tada Он Она Оно Они Ми Ја Ти То Тај Та Али И А Затим Онда Кад Када Ако У На До Шта Где Како Зашто Сада Данас Јуче Не Да Је";
const DANISH =
  "Han Hun Den Det De Vi Jeg Du Men Og Så Da Når Hvis Der Her Et En I På Til Med Efter Etter Hva Hvad Hvor Hvordan Derfor Dette Denne Disse Nå Nu";

/** Words that start a sentence far more often than they continue a name. */
export const STARTERS: Record<string, string> = {
  en: "He She They We It I You The Then This That These Those There Their His Her Its Our My Your In On At As And But So Or If When While After Before What Why How Who Where Which Is Are Was Were Do Does Did Can Could Would Should Please Let For However Also Now Here Yes Not Some Many Most All Each Both To From By With Since Because Although Though Thus Therefore Meanwhile Later Today Yesterday Tomorrow Once Finally Have Has Had A An Press Click Tap Select Choose Run Try Use Enter Nobody Everyone Someone Nothing Everything Another Such Other Others Even Still Every Any No One Two Three Despite During Until Unless Whether Instead Perhaps Maybe Sure Sorry Thanks Thank Make Take Keep Check See Read Add Remove Get Go Come Call Ask Bring Leave Send Write Note Remember Wait Stop Turn Put Ring Stir Scroll Nobody Will Shall May Might Must Again Only Never Always Often Sometimes Usually Good Well Ok OK Okay Sadly Luckily Next Follow Serve Wear Hold Look Visit Give Feel",
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
  hr: SERBIAN,
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
  lt: "Jis Ji Jie Jos Mes Aš Tu Jūs Tai Tas Ta Šis Ši Bet Ir O Tada Vėliau Paskui Kai Jei Kur Kas Kaip Kodėl Dabar Šiandien Vakar Rytoj Ne Taip Čia Ten Yra Buvo Todėl Jo Jų Po Prieš Ką",
  lv: "Viņš Viņa Viņi Viņas Mēs Es Tu Jūs Tas Tā Šis Šī Bet Un Tad Pēc Vēlāk Kad Ja Kur Kas Kā Kāpēc Tagad Šodien Vakar Rīt Nē Jā Te Tur Ir Bija Tāpēc Lūdzu",
  et: "Ta Tema Nad Nemad Me Meie Mina Ma Sina Sa Te See Need Aga Ja Siis Hiljem Kui Kus Kes Mis Kuidas Miks Nüüd Täna Eile Homme Ei Jah Siin Seal On Oli Palun Pärast",
  is: "Hann Hún Það Þeir Þær Þau Við Ég Þú Þið En Og Svo Síðan Þá Þegar Ef Hvað Hvar Hvernig Hver Nú Hér Þar Í Á Til Með Eftir Ekki Já Nei Þetta Þessi",
  mk: "Тој Таа Тоа Тие Ние Јас Ти Вие Ова Овој Но И А Потоа Кога Ако Во На Што Каде Како Зошто Сега Денес Вчера Не Да",
  be: "Ён Яна Яно Яны Мы Я Ты Вы Гэта Гэты Але І А Потым Калі У Ў На Што Дзе Як Чаму Хто Цяпер Зараз Сёння Учора Не Так",
  af: "Hy Sy Hulle Ons Ek Jy Dit Die Maar En Toe Daarna Dan Dat Hierdie Daar Hier In Op Van Vir Met As Wat Waar Hoe Wie Hoekom Nou Vandag Gister Ook Nie Is",
  gl: "O A Os As Un Unha El Ela Eles Nós Eu Ti Pero E Despois Entón En No Na Para Por Con Se Cando Como Este Esta Isto Que Onde Hoxe Onte Non Si É Agora",
  eu: "Hura Hau Hori Bera Haiek Gu Ni Zu Baina Eta Gero Orduan Noiz Non Zer Nola Zergatik Nor Orain Gaur Atzo Bihar Ez Bai Hemen",
  sq: "Ai Ajo Ata Ato Ne Unë Ti Ju Kjo Ky Por Dhe Pastaj Kur Nëse Në Me Për Çfarë Ku Si Pse Kush Tani Sot Dje Nesër Jo Po",
  sw: "Yeye Wao Sisi Mimi Wewe Hii Hiyo Lakini Na Kisha Baadaye Kama Nini Wapi Vipi Kwa Sasa Leo Jana Kesho Hapana Ndiyo Karibu",
  ms: "Dia Ia Mereka Kami Kita Saya Aku Anda Kamu Ini Itu Tetapi Namun Dan Lalu Kemudian Jika Apabila Di Ke Dari Apa Siapa Mana Bagaimana Mengapa Sekarang Hari Tidak Ya Jangan",
  kk: "Ол Олар Біз Мен Сен Сіз Бұл Осы Сол Бірақ Және Содан Кейін Қазір Бүгін Кеше Ертең Егер Не Қайда Қалай Неге Кім Иә Жоқ",
  ky: "Ал Алар Биз Мен Сен Сиз Бул Бирок Жана Андан Азыр Бүгүн Кечээ Эгер Эмне Кайда Кандай Ким",
  uz: "U Ular Biz Men Sen Siz Bu Shu Lekin Ammo Va Keyin Hozir Bugun Kecha Agar Nima Qayerda Qanday Nega Kim Ha",
  az: "O Onlar Biz Mən Sən Siz Bu Amma Lakin Və Sonra İndi Bu Dünən Əgər Nə Harada Necə Niyə Kim Bəli Xeyr",
  mn: "Тэр Тэрээр Тэд Бид Би Чи Та Энэ Харин Дараа Одоо Өнөөдөр Хэрэв Яагаад",
  hy: "Նա Նրանք Մենք Ես Դու Դուք Սա Այս Այդ Բայց Եվ Հետո Ապա Երբ Եթե Ինչ Որտեղ Ինչպես Ինչու Ով Հիմա Այսօր Երեկ Ոչ Այո",
  ka: "ის ისინი ჩვენ მე შენ თქვენ ეს მაგრამ და შემდეგ მერე ახლა დღეს გუშინ თუ რა სად როგორ რატომ ვინ დიახ არა იგი აქ იქ",
  sr: SERBIAN,
  bs: SERBIAN,
};

/** Languages that write an ordinal as a number with a stop: a lone number with a stop before a number is a date. */
export const ORDINAL = "de da nb nn no fi et lv lt cs sk sl hr sr bs hu pl tr is fo eu ko mk";

export const GERMAN_BEFORE_ORDINAL =
  "am der die das den dem des vom zum im beim ab bis seit zur ins und jeder jede jeden ihr sein mein unser dessen deren";
export const GERMAN_AFTER_ORDINAL =
  "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Jänner Feber Jahrhundert Jahrhunderts Weltkrieg Weltkriegs Klasse Platz Stock Etage Liga Mal Tag Runde Auflage Semester Quartal Halbjahr Bundesliga Kapitel Geburtstag Jahrestag Advent Preis";

/** Units that a number may follow: 6 ft. 2 in. */
export const UNITS = "ft in yd mi oz lb lbs hr hrs min mins sec secs wk wks mo yr yrs std h m s";
/** After these, "no." is an answer and not "number". */
export const BEFORE_NO = "is was be said say says answer me him her them or and a simply just";

/** Words that continue a time of day: "5 p.m. Monday", "6 a.m. Eastern". */
export const AFTER_TIME =
  "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Tues Wed Thu Thurs Fri Sat Sun January February March April May June July August September October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec EST EDT CST CDT MST MDT PST PDT ET PT CT MT UTC GMT BST CET CEST IST JST Eastern Pacific Central Mountain Local";
export const TIME_LEAD_IN = "At By On Around From Since Until Before After In Every Between";

/** Verbs of speech after a quotation: “Stop!” John said. */
export const SPEECH =
  "said says asked asks replied cried shouted yelled whispered exclaimed answered added called muttered wondered demanded insisted sighed screamed snapped murmured responded explained begged warned replies";

/** Words that answer a question by themselves. */
export const REPLIES = "yes no yeah yep nope ok okay maybe sure i";

/** After these a number with a stop is a year: godine 1991. Hrvatska */
export const BEFORE_YEAR = "godine godini leta letu године години";
/** Words drawn out by an ellipsis: "Um... I guess." */
export const HESITATIONS = "hmm hm um uhm uh er erm well so but and or because like the a to of that if ah";

/** Words that form a heading with a number: "Step 1. Unplug it." */
export const HEADED =
  "step chapter section lesson exercise question problem example rule tip schritt kapitel aufgabe étape chapitre paso capítulo passo passaggio capitolo stap hoofdstuk steg trin vaihe luku krok rozdział kapitola шаг глава крок розділ adım bölüm bước langkah";

/** Names written with an exclamation mark. */
export const SHOUTED_NAMES = "Yahoo Jeopardy Yum Joomla Chips Wham Panic Oklahoma Mamma";

/** Programs with lowercase names that can start a sentence. */
export const LOWERCASE_NAMES = "npm npx pnpm pip git curl";

/** Words followed by a label letter: "Gate B.", "vitamin C." can end a sentence where an initial cannot. */
export const LABELS =
  "gate plan vitamin option type grade step figure table section appendix part group class team level exhibit room building answer choice question item phase platform terminal zone block unit category schedule column row point size key letter hepatitis drive gruppe typ variante groupe opción grupo tipo option";
