package condense

// commonWords are words that tell nothing about the subject of a text, and by which English
// is recognised.
var commonWords = set(`
	a about above across after again against ago all almost along already also although always am among an and another any anybody anyone anything are aren around
	as at away back be because been before behind being below between both but by came can cannot come comes coming could couldn did didn do does doesn doing don done
	down during each either else enough even ever every everybody everyone everything far few for from get gets getting give given gives giving go goes going gone
	got had has hasn have haven having he her here hers herself him himself his how however i if in instead into is isn it its itself just keep keeping keeps kept
	last later least less let like likely made make makes making many may maybe me might mine more most much must my myself near need needed needs neither never next
	no nobody none nor not nothing now of off often on once one ones only onto or other others our ours out over own per perhaps put quite rather same say saying
	says said see seeing seen she should shouldn since so some somebody someone something sometimes soon still such take taken takes taking than that the their
	theirs them themselves then there these they this those though three through thus to together too took toward two under until up upon us use used uses using very
	was wasn way ways we well went were weren what whatever when whenever where whether which while who whole whom whose why will with within without won would
	wouldn yet you your yours yourself ok okay ll ve re`)

// dullWords are what people say about any subject.
var dullWords = set(`
	able absolutely achieve achieved actual actually add added adding addition additional adjust advice affect agree agreed ahead alone amazing amount angry answer
	anyway anymore apart apply appreciate appreciated approach area areas ask asked asking aspects attend attended available avoid awesome bad balance based beat beautiful
	became become becoming began begin beginning believe best better big bit blast bless blessed boost bored boring bother bought bound break bring bringing brings
	brought build building built bunch busy buy bye call called calling calm care careful case catch cause celebrate certain certainly challenge challenges
	challenging chance change changed changes chat check checked checking cheer cheers cherish choice choose choosing chose clarify clear clearly close combine comfort
	comfortable comforting common compare complete completed completely complex concerned concrete confident confused congrats congratulations consider considering consistent
	constantly continue cool correct correctly could count couple course cover create created creating crazy crucial cure curious current currently cute daily damn date
	day days deal decide decided decision dedication deep deeper deepen definitely delicious depends deserve despite detail detailed details determined did differ difference
	different difficult difficulties discuss discussing doubt drive due early easier easily easy effective effectively effort efforts eager either emotional emotions encourage
	encouragement encouraging end ended enjoy enjoyed enjoying ensure ensuring entire especially etc eventually exact exactly example examples excellent except excited
	excitement exciting expect experience experienced experiences explain explained explore exploring express extra extremely eye eyes face fact faith fall fam fan fancy
	fantastic fast favorite favourite feel feeling feelings feels felt figure figured figuring fill final finally find finding fine finish finished first fit five focus
	focused focusing follow following forever forget form forward found four free fresh friendly front full fully fun funny further future gain gained gave general
	generally gift glad goal goals gonna good gorgeous gotta grateful great grow growing growth guess guidance guide guy guys half hand handle hands hang hanging happen
	happened happening happiness happy hard hate head heading hear heard hearing heart heavy heck held hello help helped helpful helping helps hey hi hmm high highlight
	hold holding honest honestly hope hopefully hopes hoping hour hours huge hundred idea ideas imagine immensely impact importance important impressive improve improved
	improving include included includes including incorporate increase incredible incredibly information initial inner insight insights inspiration inspire inspired inspires
	inspiring integrate interested interesting issue issues item items job join joined joining joy journey joyful keen key kind kinda kindness knew know knowing known knows
	large lately latest latter laugh lead leads learn learned learning leave left lesson lessons level life light limit limited line list listen listening little live lives
	living local lol long longer look looked looking looks lose lost lot lots love loved lovely loves loving luck lucky main maintain major manage managed managing
	matter matters mean meaning meaningful means meant meet meeting mention mentioned met mind minute minutes miss missed missing mistakes mix moment moments moment month
	months mood morning motivate motivated motivates motivating motivation move moved moving multiple name named naturally nearby necessary nervous new news nice night
	note notice noticed number numbers obstacles occurred odd offer old open opening opinion opportunities opportunity option options order original otherwise ours outcome
	outside overall overcome overwhelmed pace pages pain part particular particularly parts pass passed passion passionate past path pay peaceful people perfect person
	personal personally perspective perspectives photo photos pic pick picked pics picture pictures piece pieces place places plan planned planning plans play played playing
	please plenty plus point points positive positivity possible post potential potentially power powerful practical practice prefer preferred prepare prepared preparing
	present pressure pretty prevent previous prioritize probably problem problems process progress proper properly proud provide provided providing purpose push pushing
	question questions quick quickly quiet range rate rates reach reached reaching read ready real reality realize realized really reason reasons receive received recent
	recently recharge recommend recommendation recommendations recommended reduce reducing refreshing regarding regular regularly related relax relaxing remember remind
	reminder reminds require required requires resource resources response responsible rest result results return reward rewarding rid right rock role room rough round run
	running sad safe sake sat save saw scared scenario second seconds seem seems self send sense sent separate serious seriously set sets setting several share shared
	sharing shift short shot show showed showing shown shows side significant significantly similar simple simply single sit situation situations six size skill skills slow
	small smile solid solution solve somewhat sooner sorry sort sound sounded sounds space spark speak speaking special specific specifically spend spending spent spirit spot
	spread stage stand start started starting starts state stay stayed staying step steps stick stoked stop straight strategies strategy strength stress strong struggle
	struggling stuck stuff stunning style success successful suggest suggested suggestion suggestions suitable sundown super supportive support supporting suppose
	sure surprise surprised sweet tackle talk talked talking task tasks tell telling ten tend term terms terrible thank thankful thanks thing things think thinking thought
	thoughts thousand thrilled throughout till time times tip tips tired today told tomorrow ton tonight tons top topic topics total totally touch tough track tried trouble
	true truly trust try trying turn turned turning turns type types uh ultimately understand understanding understood unfortunately unique upcoming update updated updates
	useful usual usually value various vibe vibes view visit wait waiting walk wanna want wanted wanting wants warm watch watching week weekend weekends weeks weird
	welcome wether wide wild willing win wish wishes wishing wonder wonderful wondering word words work worked working works world worried worries worry worse worst worth wow
	write wrong yay yeah year years yep yes yesterday yo young
	absolute alright awhile bday besides bring bro btw cherishing chill comes dear dude everyday fab gosh haha happily hug hugs hun important kinds mel mostly nah nope omg ooh oh
	mr mrs ms dr phew pls plz shoot soo sooo thx ttyl u ur whoa woah woo woohoo ya yup
	monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december summer winter spring autumn
	jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed weds thu thur thurs fri sat sun am pm
	accepted assume assuming basic beta calculate calculating concept concepts dream dreams feature features implement implemented implementing implementation improvement
	improvements memories memory review reviewing story stories user users wonder creatively complicated based accurate accurately additionally
	english`)
