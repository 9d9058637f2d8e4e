"""Words that a question asks with, and the words that tell it: who asks for a job is told as what somebody works.

A word of a query that no memory in scope has is stood for by its kindred. What a text tells is never asked by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muniment.memory.rules import words

_MOST = 32  # of one query
# The word that is asked with, and those that tell it.
_KINDRED = """
live: move relocate settle reside residence home address based
reside: live move relocate settle home address
home: live house move reside apartment address
house: home apartment live
apartment: flat home house
flat: apartment home
address: live street home
city: live move relocate town reside
town: city live move village
country: live move born native citizen
located: live based move
hometown: grew raised born
job: work profession occupation employ career position hire
work: job profession occupation employ company career
profession: work job occupation career
occupation: work job profession career
career: work job profession
employer: work company employ job
employed: work job company hire
company: work employer firm
colleague: coworker work team
boss: manager supervisor work
manager: boss supervisor lead
supervisor: boss manager
coworker: colleague team
salary: earn paid income wage
earn: salary paid income
married: marry wife husband spouse wedding engaged partner
wife: spouse marry partner
husband: spouse marry partner
spouse: wife husband marry partner
partner: wife husband spouse girlfriend boyfriend marry
girlfriend: partner dating
boyfriend: partner dating
dating: girlfriend boyfriend partner
single: divorced separated partner
family: wife husband son daughter child mother father brother sister parent
child: son daughter kid baby
kid: son daughter child baby
son: child kid boy
daughter: child kid girl
parent: mother father mom dad
mother: mom mum parent
mom: mother mum parent
father: dad parent
dad: father parent
sibling: brother sister
brother: sibling
sister: sibling
pet: dog cat puppy kitten rabbit hamster parrot bird turtle fish horse
dog: puppy pet
cat: kitten pet
animal: dog cat pet horse bird cow bee chicken sheep
operation: surgery
surgery: operation
alcohol: drink wine beer
wine: alcohol drink
beer: alcohol drink
fan: support supporter love
advisor: supervisor mentor
mentor: supervisor advisor
business: company firm studio shop work
clothes: wear dress
wear: clothes dress
wardrobe: wear clothes
stay: hotel sleep
sleep: stay hotel
fly: flight plane airport
birthday: born birth
born: birthday birth
age: old born birthday year
old: age born birthday
ill: sick disease diagnose hospital
sick: ill disease diagnose hospital
disease: diagnose ill condition
health: ill sick diagnose condition disease allergic
condition: diagnose disease
allergy: allergic intolerant
diet: vegetarian vegan eat allergic gluten
eat: food vegetarian vegan diet meal allergic intolerant
food: eat dish meal cuisine
drink: coffee tea wine beer juice
medicine: medication pill tablet
doctor: physician dentist clinic
hobby: enjoy play like love practice pastime
interest: enjoy like love hobby
favorite: like love prefer best favourite
favourite: like love prefer best favorite
like: love enjoy prefer favorite
love: like enjoy adore
enjoy: like love
prefer: like favorite rather
dislike: hate
hate: dislike
car: drive vehicle
vehicle: car drive motorcycle
drive: car vehicle
phone: number mobile call
email: mail address
study: student degree graduate university college school
school: study student college university class
university: study college degree graduate
college: study university degree graduate
degree: study graduate university
graduate: degree university college
language: speak fluent native
speak: language fluent
travel: trip visit fly vacation flight
trip: travel visit vacation holiday
vacation: holiday trip travel
holiday: vacation trip travel
flight: fly airport
meeting: meet appointment
appointment: meeting schedule
buy: purchase bought
bought: buy purchase
purchase: buy bought
cost: price pay paid
price: cost pay
movie: film watch
film: movie watch
book: read novel author
read: book novel
song: music sing
music: song band listen concert
instrument: play guitar piano violin drum flute
sport: play run swim tennis football soccer basketball gym
exercise: run gym workout yoga train
workout: exercise gym train
religion: church believe christian muslim jewish buddhist pray
nationality: citizen born native
name: called
called: name
die: death dead died passed
dead: died death passed
death: died passed dead
deadline: due
due: deadline
goal: want plan aim hope
plan: intend goal
dream: want hope goal
fear: afraid scared
afraid: fear scared
quit: leave left stop
住在: 搬到 搬去 居住 定居 住址
住址: 住在 搬到 居住
城市: 住在 搬到 搬去 居住 定居
搬家: 搬到 搬去 住在
老家: 出生 来自
工作: 职业 上班 任职 就职 公司
上班: 工作 公司 任职
职业: 工作 上班 任职
公司: 工作 上班 任职
老板: 上司 经理
上司: 老板 经理
同事: 工作 团队
工资: 收入 薪水 月薪
结婚: 妻子 丈夫 老公 老婆 太太 配偶 已婚
配偶: 妻子 丈夫 老公 老婆 太太
妻子: 老婆 太太 配偶 结婚
老婆: 妻子 太太 配偶 结婚
丈夫: 老公 配偶 结婚
老公: 丈夫 配偶 结婚
对象: 男友 女友 配偶
家人: 妻子 丈夫 儿子 女儿 父亲 母亲 妈妈 爸爸
孩子: 儿子 女儿
儿子: 孩子
女儿: 孩子
父母: 父亲 母亲 爸爸 妈妈
妈妈: 母亲
母亲: 妈妈
爸爸: 父亲
父亲: 爸爸
兄弟: 哥哥 弟弟
姐妹: 姐姐 妹妹
宠物: 狗叫 猫叫 只狗 只猫 条狗 养了
生日: 出生
多大: 岁了 出生 生日
年龄: 岁了 出生 生日
过敏: 忌口
忌口: 过敏 不吃
能吃: 过敏 忌口 不吃 吃素
检查: 体检
身体: 患有 确诊 血压 体检
拍照: 相机 摄影
爱好: 喜欢 兴趣
兴趣: 喜欢 爱好
喜欢: 爱吃 爱好 最爱
讨厌: 不喜 不爱
生病: 患有 确诊
开车: 车是 汽车
车子: 汽车 开车
学校: 大学 就读 上学
专业: 学习 就读 主修
语言: 会说 母语
旅行: 旅游 去过
旅游: 旅行 去过
计划: 打算 想要
目标: 打算 想要 希望
电影: 影片
音乐: 歌曲 听歌 乐队
运动: 跑步 游泳 健身 打球
"""


def _of_stems() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _KINDRED.strip().splitlines():
        asked, told = line.split(":")
        [stem] = words.lexemes(asked)
        others = dict.fromkeys(words.lexemes(told))
        found[stem] = tuple(other for other in (*found.get(stem, ()), *others) if other != stem)
    return found


_BY_STEM = _of_stems()
_TELLERS = {stem: frozenset(told) for stem, told in _BY_STEM.items()}


def tellers(stem: str) -> frozenset[str]:
    """The stems that stand in for one."""
    return _TELLERS.get(stem, frozenset())


def kindred(terms: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The kindred of a query's terms that it does not have itself, each with the place of its term, from 1."""

    def pairs() -> Iterator[tuple[str, int]]:
        for place, term in enumerate(terms, 1):
            yield from ((other, place) for other in _BY_STEM.get(term, ()) if other not in terms)

    return tuple(pairs())[:_MOST]
