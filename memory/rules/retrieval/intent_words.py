"""What people ask about each other's lives in English, and the words that tell it.

A line is an aspect: its name, the words that ask for it, and after the bar those that only tell it. What asks tells as well.
Words are compared by their stems; `_` joins what counts only in a row."""

from __future__ import annotations

SELF = """
name: name called nickname surname last_name first_name full_name call_me address_me | name_is goes_by short_for
age: age old how_old years_old | aged year-old turned turns turning
birthday: birthday birthdate birth_date date_of_birth when_born was_born born | born_on turned
birthplace: birthplace born where_born place_of_birth | born_in native_of
origin: hometown home_town come_from where_from grow_up grew_up roots originally country nationality | comes_from raised native from born_in born immigrated emigrated british irish french german italian spanish portuguese dutch belgian swiss austrian swedish norwegian danish finnish polish czech hungarian romanian greek turkish russian ukrainian american canadian mexican brazilian australian chinese japanese korean indian
ethnicity: nationality citizenship citizen passport origin | british english irish scottish french german italian spanish portuguese dutch swedish norwegian danish finnish polish greek turkish russian american canadian mexican brazilian chinese japanese korean indian
pronouns: pronouns gender | they/them she/her he/him woman man female male nonbinary
home: live living lived reside residence residing home house city town village place_of_residence address neighbourhood neighborhood district apartment flat postcode where_based which_part_of part_of_town part_of_london which_city which_town which_country where_in where_do_i_stay my_place what_part | lives_in moved relocated settled resides based cottage bungalow villa condo studio_flat loft farmhouse houseboat terraced semi-detached mortgage suburb county dorm moved_to moving_to renting tenant shares_a_house spends_the_winters winters caravan moved_from in_the_countryside in_the_suburbs lives_on lives_with lives_near lives_alone penthouse high-rise dormitory care_home nursing_home homeless mansion emigrated immigrated relocating
housing: house apartment flat home accommodation property place kind_of_home type_of_home sort_of_home own_a_house | cottage bungalow villa condo loft farmhouse houseboat studio_flat bedroom terraced semi-detached detached storey rent mortgage garden rooms dorm tenant landlord caravan tiny_house studio shares_a_house mansion council_flat maisonette penthouse high-rise
floor: floor storey level | floor storey basement attic ground
rent: rent housing_cost pay_for_my_flat pay_for_my_apartment | rent mortgage monthly landlord
move: move moving relocate relocating relocation removal removals movers new_home new_flat | moved moves mover removal boxes
neighbour: neighbour neighbor next_door upstairs downstairs | neighbour neighbor
phone: phone_number mobile_number telephone cell_number reach_me call_me contact_number | phone_number mobile_number telephone
email: email e-mail mail_address email_address inbox | email gmail outlook
height: tall height | cm feet metres meters tall
weight: weight weigh heavy kilos pounds | kg kilos weighs lbs pounds stone
size: size shoe_size clothing_size fit | size medium large small xl
looks: look_like hair eyes eye hairstyle appearance beard | hair eyes blond brown-eyed curly bald beard tattoo glasses freckles
blood: blood_type blood_group | blood_type blood_group rhesus
glasses: glasses eyesight vision see_well sight eyes see eye | glasses lenses short-sighted shortsighted near-sighted nearsighted myopic long-sighted colour-blind color-blind dioptres colourblind cataract glaucoma blind contact_lenses
licence: licence license allowed_to_drive | licence license permit
personality: personality character temperament type_of_person kind_of_person introvert extrovert shy | introvert extrovert shy outgoing impatient calm punctual stubborn anxious talkative quiet organised organized
star: star_sign zodiac horoscope sign | aries taurus gemini cancer leo virgo libra scorpio sagittarius capricorn aquarius pisces
religion: religion religious faith believe church mosque temple synagogue worship pray which_faith belief spiritual | christian catholic protestant muslim jewish buddhist hindu sikh atheist agnostic orthodox quaker church mosque temple synagogue mass prays baptised methodist anglican baptist lutheran mormon evangelical taoist pagan
politics: politics vote voting party political | votes elected councillor party campaign
language: language languages speak tongue bilingual fluent mother_tongue foreign_language | speaks fluent native learning_french english french german italian spanish portuguese dutch swedish norwegian danish finnish polish czech greek turkish russian arabic hebrew hindi mandarin cantonese chinese japanese korean latin welsh catalan duolingo b1 b2 c1
learning: study studying learn learning studied class lesson course practising practicing | learns studies learning course class lessons duolingo tutor practises app
military: military army served service veteran navy | army navy marines air_force soldier veteran regiment deployed conscript
"""

WORK = """
job: job profession professional professionally occupation career employed employment work working do_for_a_living do_for_living for_a_living do_for_work work_as earn_my_living make_a_living make_my_living earn_my_money earn_money line_of_work field_of_work position role trade industry day_job pay_the_bills what_do_i_do what_work what_trade what_do_i_work field what_am_i_employed earn_my_keep bread side_job side_hustle second_job part-time_job part-time part_time moonlight earn_a_living job_title back_to_work | works_as works_at works_for works_in self-employed freelance freelancer retired_as runs_a founded owns_a nurse doctor gp teacher engineer developer programmer designer lawyer attorney solicitor barrister paralegal accountant bookkeeper architect photographer journalist reporter editor writer author novelist poet copywriter chef cook baker butcher waiter waitress bartender barista sommelier driver pilot mechanic plumber electrician carpenter joiner mason bricklayer builder painter decorator roofer welder gardener landscaper farmer fisherman vet veterinarian dentist pharmacist physiotherapist therapist psychologist psychiatrist counsellor counselor surgeon midwife paramedic carer caretaker caregiver cleaner janitor librarian lecturer professor researcher scientist biologist chemist physicist mathematician statistician analyst consultant manager director executive ceo cto cfo founder co-founder entrepreneur salesman saleswoman salesperson salesman sales cashier clerk secretary receptionist assistant administrator officer policeman policewoman detective firefighter soldier sailor translator interpreter musician singer actor actress dancer artist illustrator sculptor tailor seamstress dressmaker hairdresser barber beautician florist jeweller optician optometrist realtor estate_agent broker banker economist auditor marketer recruiter intern apprentice trainee tutor coach trainer instructor guide nanny au_pair judge prosecutor politician diplomat priest pastor vicar technician operator sysadmin tester producer filmmaker animator composer conductor courier postman mailman trucker steward stewardess foreman geologist archaeologist historian astronomer surveyor inspector beekeeper brewer winemaker miner potter blacksmith locksmith bus_driver taxi lorry_driver truck_driver flight_attendant social_worker civil_servant shopkeeper shop_assistant data_scientist product_manager project_manager stay-at-home housewife homemaker unemployed radiographer cardiologist paediatrician pediatrician dietitian nutritionist curator podcaster youtuber streamer influencer warehouse ranger lifeguard bouncer usher jobless teaches coaches designs repairs sells manages trades drives_a hygienist controller hairstylist undertaker bailiff shop petrol_station factory care_home call_centre forklift crane cab dj disc_jockey freelances moonlights side_job internship stagiaire works_part-time works_weekends works_nights retired on_call own_boss at_a_bank councillor mayor ambassador imam rabbi monk nun model stuntman stylist proofreader publisher tiler glazier cobbler shoemaker watchmaker upholsterer stonemason farrier shepherd ski_instructor dean headmaster headmistress headteacher principal teaching_assistant childminder dog_walker groomer personal_trainer referee umpire footballer cyclist_professional athlete sergeant captain lieutenant colonel coastguard customs clerk_of actuary underwriter trader auctioneer antiques dealer butler concierge housekeeper chambermaid croupier dispatcher docker engraver ergotherapist occupational_therapist speech_therapist anaesthetist radiologist oncologist neurologist dermatologist gynaecologist orthodontist acupuncturist osteopath chiropractor masseur masseuse herbalist embalmer parental_leave maternity_leave paternity_leave sick_leave sabbatical unpaid_leave
workplace: work working employer company office workplace firm employ place_of_work where_work work_for who_do_i_work_for my_company which_bank my_office employer_called who_employs which_company what_company which_firm where_do_i_work which_hospital_do_i_work | works_at works_for works_in employed_at employed_by office bank hospital school university factory agency studio clinic company firm startup headquarters department branch site warehouse bakery petrol_station call_centre restaurant hotel library museum laboratory lab court ministry council airport port railway police fire_brigade bookshop supermarket
business: business company startup start-up firm shop studio own_boss enterprise venture shop_called my_shop my_company_called run_a own_a | founded founder runs owns shop company studio start-up startup cafe bakery store salon agency bookshop pub restaurant brewery vineyard farm practice online_shop etsy consultancy gym workshop boutique guesthouse b&b
cofounder: start_the_business started_the_business started_the_company co-founder cofounder business_partner founding_partner founded_with start_with | co-founder cofounder business_partner partner
staff: employees staff team work_for_me people_work | employees staff team headcount people
colleague: colleague coworker co-worker work_with team teammate helps_me help_me work_together who_do_i_work_with run_the_shop_with alongside | colleague coworker co-worker assistant partner team_mate teammate works_with co-founder with_her_sister with_his_brother with_her_husband with_his_wife together_with with_a_partner
assistant: assistant helper help_me helps_me support_me secretary pa | assistant secretary helper trainee apprentice
boss: boss manager supervisor report_to team_lead line_manager superior in_charge | boss manager supervisor reports_to lead head
advisor: advisor adviser supervisor mentor phd_advisor doctoral tutor thesis_supervisor supervise supervises | supervisor professor mentor advisor tutor prof
salary: salary earn pay paid wage income make_a_month make_a_year money_i_make earnings how_much_do_i_earn how_much_do_i_make pay_packet paycheck | salary earns paid wage income gross per_month per_year a_month a_year makes_a dollars_a pounds_a euros_a
rate: rate charge daily_rate hourly_rate fee price cost | charges rate fee per_hour per_day an_hour a_day
shift: shift shifts on_duty working_hours work_hours hours schedule office_hours start_work finish_work | shifts part-time full-time night_shift hours nine-to-five four-day hybrid remotely
commute: commute get_to_work go_to_work travel_to_work way_to_work journey_to_work how_do_i_commute get_to_the_office how_do_i_get_to travel_to_the_office | commutes cycles drives_to bus train tram metro subway by_bike walks_to cycles_to bike bicycle drives carpool ferry scooter walks
remote: remote remotely home_office work_from_home office_days | remote remotely home_office hybrid from_home
retire: retire retired retirement stop_working stopped_working pension | retired retires pension pensioner
careerpast: previous_job former_job last_job former_employer used_to_work before_this old_job worked_before | used_to_work worked_as worked_at worked_for formerly previously retired former ex-
jobhunt: job_hunt looking_for_a_job new_job job_search apply applied interview application | applied interview applying job_offer looking_for laid_off hired unemployed
project: project working_on work_on assignment case | project working_on builds building developing writing launch prototype case
client: client customer account | client customer
meeting: meeting meet appointment call standup catch_up conference | meeting meets call standup review appointment one-on-one conference
pitch: present presentation pitch talk speech give_a_talk keynote slides | pitch presentation talk speech keynote lecture conference slides
deadline: deadline due hand_in submit submission finish_by deliver | deadline due must_hand submit until by_the_end delivers hand
investor: investor investors venture funding capital vc vcs venture_capitalist venture_capitalists raise_money | investor investors northzone seed series funding pitch venture capital angel
funding: funded funding finance scholarship grant stipend paid_for sponsor | scholarship grant stipend fellowship funded loan sponsor bursary
books_kept: accounting accounts bookkeeping keeps_the_books taxes finances | keeps_the_books bookkeeper accountant accounts tax_adviser
successor: successor succeed take_over follow_me inherit | take_over takes_over successor inherits heir
"""

STUDY = """
school: school study studied university college uni educated education attend alma_mater go_to_school attended went_to_school where_study which_uni university_am_i begin_school start_school which_universities which_colleges universities colleges apply | school university college uni academy student kindergarten nursery graduated attends studied_at polytechnic faculty campus primary_school secondary_school high_school elementary start_school starts_school sixth_form boarding_school applied_to mit harvard oxford cambridge stanford yale final_year graduation
major: study major subject degree studying field_of_study course_of_study studied read_at | studies studied majored degree bachelor master msc ba bsc phd biology chemistry physics maths mathematics history law medicine economics psychology philosophy engineering computer_science literature linguistics nursing architecture art design sociology
graduation: graduate graduation finish_school finish_university | graduated graduates graduation degree
thesis: thesis dissertation research doctoral doctorate paper phd | thesis dissertation doctoral paper research
exam: exam test certificate certification qualify qualification | exam test passes passed failed toefl ielts bar_exam certificate driving_test finals certification
teacher: teacher tutor professor class_teacher instructor | teacher tutor professor mr mrs ms
grade: grade year class which_grade school_year marks what_grade | grade year form class second_grade first_grade
course: course class lesson workshop evening_class training | course class lesson workshop training seminar bootcamp
"""

HEALTH = """
illness: illness ill sick disease condition health medical suffer diagnosis diagnosed health_problem wrong_with_me health_issue ailment chronic disorder have_i_been_diagnosed what_is_wrong what's_wrong wrong_with health_problems medical_condition heart_condition heart lungs eyes ears stomach skin blood_sugar mental_health how_is_my_health | diagnosed suffers diabetes diabetic asthma hypertension blood_pressure migraine migraines arthritis cancer epilepsy depression anxiety adhd autism coeliac celiac crohn parkinson alzheimer eczema psoriasis anaemia anemia insomnia thyroid tinnitus back_pain heart_condition gout reflux ibs endometriosis hay_fever cholesterol dyslexia dyslexic lactose intolerant pain chronic stroke sclerosis pneumonia covid flu osteoporosis sciatica glaucoma pacemaker dementia autistic dyspraxia bipolar ptsd anorexia hepatitis hiv lupus fibromyalgia copd emphysema colitis ulcer ulcers kidney liver transplant allergy allergic prosthesis wheelchair deaf blind hearing_aid colour-blind color-blind colourblind colorblind sprain hernia slipped_disc sinusitis tonsillitis bronchitis vertigo anaemic parkinson's alzheimer's down_syndrome stammer
allergy: allergy allergies allergic react_to reaction | allergic allergy anaphylaxis epipen hay_fever intolerant
avoid: avoid cannot_eat can't_eat not_eat not_drink must_not avoid_eating not_allowed unable_to_eat allowed_to_eat can_i_eat dangerous steer_clear stay_away stay_away_from must_not_eat keep_away can_i_have put_in may_i_eat would_i_eat would_i_drink would_i_like should_not_eat shouldn't_eat leave_out off_limits eat_a steak milk cream cheese bread nuts shellfish must_i_not must_not_take should_i_avoid | allergic intolerant coeliac celiac gluten lactose vegetarian vegan halal kosher does_not_eat doesn't_eat does_not_drink avoids pregnant diabetic hates dislikes can't_eat cannot_eat shellfish nut peanut dairy pescatarian teetotal decaf
medicine: medicine medication pill pills tablets drug drugs prescription take_for dose prescribed supplement medication_am_i_on on_any_medication inhaler use_for_my remedy medicines antibiotic antibiotics | takes_mg mg tablet pill insulin inhaler antibiotics painkiller statin ibuprofen paracetamol aspirin ramipril metformin antidepressant levothyroxine vitamin medication injection dose prescribed supplements salbutamol ventolin warfarin omeprazole lithium ritalin sertraline citalopram statins beta_blocker antihistamine hrt penicillin amoxicillin antibiotic
doctor: doctor gp physician specialist surgery_name see_when_sick | doctor dr gp cardiologist dermatologist physician paediatrician pediatrician neurologist gynaecologist orthopaedist
dentist: dentist teeth tooth dental | dentist teeth tooth dental braces root_canal orthodontist crown
therapist: therapist therapy psychologist counselling counseling counsellor physio physiotherapist | therapist therapy psychologist counsellor physiotherapist physio osteopath psychiatrist
checkup: check-up checkup medical_exam doctor's_appointment hospital_appointment see_the_doctor doctor_appointment | check-up checkup appointment scan mri x-ray screening blood_test
surgery: surgery operation operated procedure | surgery operation operated removed transplant bypass replacement
injury: injury injured hurt broken broke accident pain ache sore hurts | injury injured broke fractured sprained torn pain fall accident surgery knee back shoulder wrist ankle
hospital: hospital clinic treated ward | hospital clinic ward icu
sleep: sleep asleep bedtime fall_asleep go_to_bed get_up wake_up insomnia nap | sleeps asleep bed bedtime insomnia goes_to_bed gets_up wakes white_noise nap
morning: morning get_up getting_up wake_up waking_up after_waking breakfast start_the_day start_my_day first_thing | morning breakfast dawn gets_up wakes
evening: evening night before_bed end_of_the_day after_work dinner | evening night bedtime dinner after_work
fitness: exercise work_out workout gym fit fitness training keep_fit stay_fit stay_in_shape physical_activity train active | gym runs running jogs jogging yoga pilates swims swimming cycles cycling climbs climbing hikes crossfit weights marathon training trains aerobics football tennis personal_trainer
smoking: smoke smoker smoking cigarettes tobacco | smokes smoker smoking cigarettes vapes vaping
pregnancy: pregnant pregnancy expecting baby_due due_date | pregnant expecting baby due trimester
insurance: insurance insured policy cover | insurance insured insurer policy
fear: afraid scared fear phobia frightened terrified worry worried anxious | afraid scared fear phobia terrified frightened nervous anxious panics worried
diet: diet eat food vegetarian vegan eating_habits nutrition meat dietary | vegetarian vegan pescatarian gluten lactose halal kosher keto does_not_eat low-carb fasting coeliac celiac allergic diet eats plant-based
"""

FOOD = """
food: food eat dish meal cuisine cook favourite_food favorite_food lunch dinner restaurant_food snack order pizza burger sandwich soup pasta meal_of_choice eat_most | eats dish cuisine sushi pizza pasta curry rice noodles soup salad ramen burger tacos steak risotto lasagne stew dumplings paella italian_food thai_food indian_food cooks bakes loves_eating spicy meatballs stir-fry tapas hummus falafel kebab schnitzel goulash pierogi pho dim_sum fish_and_chips roast
dislikefood: dislike hate not_like don't_like can't_stand cannot_stand least_favourite left_off leave_off leave_out not_put hold_the | hates dislikes does_not_like can't_stand doesn't_like allergic
spice: spicy hot spice heat how_hot hot_food chilli curry | spicy chilli chili hot mild curry
breakfast: breakfast morning_meal | breakfast porridge cereal muesli toast granola oatmeal
drink: drink beverage thirsty order_at_the_bar favourite_drink favorite_drink | drinks coffee tea espresso cappuccino latte juice water cola wine beer whisky whiskey gin cocktail kombucha matcha lemonade soda
coffee: coffee caffeine espresso how_take_my_coffee regular_coffee | coffee espresso cappuccino latte flat_white decaf americano milk sugar
alcohol: alcohol wine beer drink_alcohol glass_of_wine whisky booze bar pub cocktail champagne prosecco cider cocktails vodka rum drunk toast_with | alcohol wine beer sober teetotal whisky gin cocktail does_not_drink recovering_alcoholic alcoholic in_recovery quit_drinking stopped_drinking champagne vodka rum tipsy
cooking: cook cooking bake baking make_for_dinner recipe kitchen | cooks bakes baking cooking recipe bread cake grills
restaurant: restaurant eat_out eating_out go_out_to_eat place_to_eat cafe | restaurant trattoria bistro cafe pizzeria diner pub
sweet: dessert sweet sweets candy cake treat ice_cream | dessert cake chocolate ice_cream tiramisu pie cookies sweet pudding pastry
fruit: fruit fruits | apple pear banana orange mango strawberry strawberries cherry cherries grape melon peach plum kiwi pineapple berries raspberries lemon
vegetable: vegetable vegetables veggie veggies greens crops grow | tomato tomatoes bean beans carrot carrots potato potatoes onion cucumber lettuce spinach broccoli cabbage pumpkin courgettes zucchini peas kale aubergine eggplant peppers mushroom asparagus leek beetroot radish celery cauliflower
meat: meat beef pork chicken lamb fish bacon steak burger ham sausage roast barbecue | vegetarian vegan pescatarian meat beef pork chicken lamb fish halal kosher
dairy: dairy milk cheese yogurt butter cream latte cappuccino custard ice_cream yoghurt | lactose dairy milk vegan
bread: bread gluten wheat pasta flour cake | gluten coeliac celiac wheat bread
nuts: nuts peanut peanuts almond almonds hazelnut | nuts peanut peanuts almond walnut cashew hazelnut
seafood: seafood shellfish shrimp prawns fish crab lobster | shellfish shrimp prawns seafood crab lobster mussels fish
"""

FREE_TIME = """
hobby: hobby hobbies free_time spare_time pastime for_fun leisure relax unwind interests interested_in enjoy weekends like_to_do like_doing passion passionate creative wind_down pastimes activity activities like_to_do_in_my_free_time | hobby enjoys likes_to likes loves plays paints painting knits knitting crochets sews sewing gardening garden hiking hikes fishing chess photography reading reads dancing dances sings singing climbs climbing surfing sailing skiing cycling collects baking pottery woodworking birdwatching bird-watching gaming running yoga cooks keeps_bees volunteering volunteers camping astronomy origami scrapbooking diving kayaking bridge crossword codes_in as_a_hobby orchestra bakes crochet theatre acting amateur drone beekeeping bees allotment model_trains vinyl wine_tasting skating skateboarding archery
sport: sport sports athletic match | football soccer tennis basketball volleyball badminton hockey rugby cricket golf swimming swims rowing boxing judo karate running runs cycling climbing skiing snowboarding surfing yoga squash handball gymnastics fencing athletics marathon aerobics ballet horse_riding table_tennis triathlon baseball
team: team club support fan_of follow root_for favourite_team favorite_team cheer which_team_do_i_train coach football_team my_team what_team | supporter fan supports team club season_ticket fc united city follows coaches arsenal chelsea liverpool tottenham barcelona madrid juventus milan ajax bayern dortmund celtics lakers yankees
running: run running jog jogging race marathon target_time finish_time | runs marathon km half-marathon 10k race pace training jogs
exercise_partner: exercise_with train_with run_with work_out_with running_partner gym_buddy | training_partner running_partner buddy gym_partner
outdoors: hike hiking walk walking trek mountains nature outdoors | hiking hikes walks trekking trails mountains camping lake forest climbing
music: music listen song band musician singer genre artist concert album playlist kind_of_music type_of_music listen_to composer musicians bands | music listens jazz rock pop techno metal classical hip-hop rap opera folk band concert album singer songs fan_of indie reggae blues gig vinyl composer schubert mozart bach beethoven chopin orchestra symphony playlist soundtrack k-pop country_music taylor beatles radiohead
instrument: instrument play musical | piano guitar violin cello drums drum flute saxophone trumpet ukulele clarinet harp bass accordion keyboard viola trombone oboe recorder banjo harmonica choir
singing: sing choir singing karaoke | sings choir singing soprano alto tenor karaoke
film: film movie movies films cinema watch director | film movie films movies cinema watches director watched documentary
tv: tv series show television watch watching binge netflix | series show tv netflix season episode watching anime sitcom
book: book read reading novel author bedside | reading reads book novel author writer fantasy thriller poetry poems crime_novels audiobook library book_club
news: newspaper news magazine subscribe paper journal which_paper | newspaper reads guardian times news magazine podcast subscribes new_yorker economist times_newspaper le_monde subscription
podcast: podcast listen radio | podcast radio
game: game games play video_game board_game console gaming card_game card_games board_games puzzle | plays playstation xbox nintendo switch minecraft zelda chess board_games game games poker catan dungeons pc bridge rummy canasta whist solitaire crossword sudoku backgammon checkers dominoes go
art: art paint painting draw drawing museum | paints watercolour watercolor draws oil_painting sketches exhibition gallery museum sculpture drawing calligraphy
craft: craft handmade make_by_hand knit sew handicraft handicrafts crafts | knits crochets sews pottery ceramics woodworking carpentry embroidery quilting origami crochet crocheting sew sewing macrame jewellery_making weaving
dance: dance dancing the_dance ball | dances salsa ballet tango ballroom dancing hip-hop swing prom ball
photo: photo photos photograph camera take_pictures picture pictures shoot photography | photography photographer camera nikon canon sony fujifilm leica lens lightroom pictures photos photoshop
garden: garden gardening allotment plants plant grow growing balcony flowers | garden allotment plants grows roses tomatoes herbs balcony flowers orchard greenhouse tulips
collect: collect collection | collects collection stamps coins vinyl records cards
volunteer: volunteer volunteering charity donate help_out | volunteers volunteer charity food_bank shelter donates
club: club group society member membership belong | club member group society choir team association
travel: travel trip holiday vacation journey visit go_on_holiday destination abroad tour getaway honeymoon go_next | trip travels travelling holiday vacation visit flight flies flying tour cruise hotel booked wants_to_see backpacking road_trip honeymoon visiting wants_to_go
dreamtrip: love_to_travel want_to_travel like_to_travel want_to_go want_to_visit dream_destination bucket_list | wants_to_go wants_to_see wants_to_visit dreams_of plans_to_visit would_like_to_visit
visited: been_to have_been visited countries_have | visited has_been been_to travelled_to went_to
flight: fly flight plane airport depart departure take_off airline | flight flies plane leaves airport lands airline departs
train: train railway rail station | train rail station departs
hotel: hotel stay accommodation sleep_on sleeping staying airbnb hostel during_my_trip | hotel hostel airbnb stays guesthouse staying campsite resort apartment
companion: travel_with go_with come_along coming_along come_with coming_with accompany join_me joining_me with_me together_with | travels_with with_a_friend together_with goes_with with_her with_his accompanied joins
passport: passport visa valid expire travel_document id_card | passport visa expires valid
seat: seat aisle window | aisle window seat
season: season spring summer autumn winter | spring summer autumn winter weather
colour: colour color shade | red blue green yellow black white grey gray purple pink orange brown turquoise beige silver teal navy
"""

THINGS = """
dinner: dinner supper | dinner supper
lunch: lunch | lunch canteen packed_lunch sandwich
superhero: hero idol role_model admire | hero idol role_model admires
weather: weather cold hot temperature | cold heat weather warm sun
housework: housework chores clean cleaning laundry | cleaner cleaning laundry housework vacuum chores
wifi: wifi wi-fi internet broadband | wifi broadband router fibre
plate: licence_plate license_plate number_plate registration | number_plate licence_plate license_plate registration
parking: park parking parking_space garage | parking garage driveway permit
password: password pin passcode | password pin passcode
tattoo: tattoo tattoos piercing piercings | tattoo tattoos piercing pierced
library: library return_the_book due_back | library due_back
learning_difficulty: learning_difficulty learning_disability special_needs | dyslexia dyslexic adhd autism autistic dyscalculia
voice: voice sing part | alto soprano tenor bass baritone
pork: pork bacon ham sausage | pork halal kosher vegetarian vegan muslim jewish
newzealand: new_zealand | auckland wellington christchurch queenstown
flower: flower flowers bouquet | flower rose roses peony tulips tulip lilies lily orchid orchids sunflowers daffodils
supplement: supplement supplements vitamins vitamin | vitamin vitamins omega magnesium iron zinc supplements protein_powder
head: head headache headaches brain | migraine migraines headache headaches concussion epilepsy stroke
hand: hand hands wrist arm finger shoulder elbow | hand wrist arm finger shoulder elbow carpal_tunnel tendonitis
knee: knee knees leg legs foot feet ankle hip | knee knees leg ankle foot hip arthritis ligament meniscus gout sprained replacement
back: back spine neck | back_pain slipped_disc sciatica scoliosis spine neck
heart: heart cardiac | heart pacemaker stent bypass arrhythmia angina murmur cholesterol
lungs: lungs lung breathe breathing breath | asthma copd inhaler bronchitis emphysema pneumonia
stomach: stomach tummy gut bowel digestion | stomach ulcer reflux ibs crohn colitis gastritis constipation celiac coeliac
skin: skin face rash | eczema psoriasis acne rosacea rash dermatitis
throat: throat voice | tonsils laryngitis hoarse sore_throat
chronotype: early_riser night_owl morning_person early_bird night_person | night_owl early_bird early_riser morning_person gets_up_early stays_up_late late_riser
prom: prom graduation_ball | prom
parttime: part-time side_job | part-time weekends
cheer: cheer root support | supports supporter fan follows united city
coach: coach trainer personal_trainer work_out_with | trainer coach personal_trainer
blog: blog blogger write_about channel | blog blogger youtube_channel newsletter podcast column
stolen: happened_to what_happened | stolen broken lost crashed died damaged burnt burned flooded
visa: stay_in_the_country visa residence_permit permit allowed_to_stay | visa residence_permit green_card permit expires
alarm: alarm wake get_out_of_bed rise | gets_up wakes alarm up_at
teach: teach teaching subject_do_i_teach | teaches teacher lecturer tutor professor instructor
review: assess assessed appraisal review evaluate | review appraisal evaluation assessment
disability: disability disabled handicap mobility | wheelchair disabled disability blind deaf amputee prosthesis crutches guide_dog
position: position which_position | goalkeeper striker midfielder defender winger goalie forward guard centre pitcher quarterback
bone: bone bones fracture cast plaster | broke broken fractured wrist ankle arm leg collarbone rib cast
carbs: pasta bread rice potatoes carbs sugar | keto low-carb gluten coeliac celiac diabetic atkins paleo
published: published publish publication come_out released release | comes_out published publishes release released launch launches
curfew: have_to_be_home be_home curfew come_home | curfew
money_side: pocket_money extra_money on_the_side make_some_money side_income | delivers babysits tutors part-time weekends sells paper_round dog_walking
sailing: sail sailing | sails yacht regatta sailboat
boat: boat boats ship yacht vessel | boat yacht sailboat canoe kayak dinghy narrowboat barge motorboat ferry
debt: debt owe owing debts | loan mortgage debt owes student_loan credit_card
speech: speech speech_problem speak_clearly speaking_problem | stammer stutter speech lisp impediment
timezone: time_zone timezone | time_zone cet gmt utc est pst
account: username handle instagram twitter social_media linkedin | instagram twitter tiktok youtube handle linkedin
visitor: visit_me coming_to_visit visitors guest guests come_to_stay | visits visiting comes_to_stay coming_to_stay guests
mood: feel feeling mood stressed stress upset sad lonely | stressed anxious burnt burnout depressed lonely sad grieving overwhelmed excited
award: award prize medal win won trophy | award prize medal won trophy champion
lost: lose lost stolen missing misplaced | lost stolen misplaced left_on
mexico: mexico mexican | mexico_city cancun oaxaca guadalajara
brazil: brazil brazilian | rio sao_paulo salvador brasilia
australia: australia australian | sydney melbourne perth brisbane adelaide
thailand: thailand thai | bangkok phuket chiang_mai
czechia: czech czechia | prague brno
poland: poland polish | warsaw krakow gdansk wroclaw
turkey: turkey turkish | istanbul ankara izmir antalya cappadocia
india: india indian | delhi mumbai bangalore goa chennai kolkata hyderabad
canada: canada canadian | toronto vancouver montreal ottawa calgary quebec
denmark: denmark danish | copenhagen aarhus
sweden: sweden swedish | stockholm gothenburg malmo uppsala
norway: norway norwegian | oslo bergen trondheim tromso lofoten
plane: plane planes flying fly flights aeroplane | window aisle flying flight flights planes
orchestra: orchestra ensemble choir band | orchestra ensemble choir band quartet
television: tv television watch_tv | television tv
broken: fix fixed repair repaired mend broken | repair repairing repairs broken leaks leaking needs_fixing replace
money: put_money_aside putting_money_aside money_aside saving_up save_for | saving_for saves_for savings puts_aside
twins: twins | twins twin
custody: custody live_with stay_with lives_with children_stay | custody every_other_weekend stays_with lives_with
study: study studying degree uni | studying studies student degree course university college apprenticeship
herb: herb herbs spice seasoning | coriander cilantro basil parsley mint rosemary thyme dill garlic ginger cumin
hearing: hear hearing ears deaf | hearing_aid deaf tinnitus
skill: good_at skill skills talent talented able | good_at skilled can certified fluent qualified expert teaches plays speaks
learn: learn_to pick_up skill would_like_to_learn want_to_learn | learn_to wants_to_learn learning take_up
winter: winter december january february cold_season | winter winters december january february ski skiing
contract: contract employed_until until_when_am_i_employed | contract permanent fixed-term runs_out expires notice
trainee: training_to_be training_to_become learning_to_be apprenticeship become retrain | studying_to_become training_to apprentice apprenticeship trainee become retraining qualified
car: car vehicle drive driving automobile wheels | car drives volkswagen vw golf toyota honda ford bmw audi mercedes skoda octavia fiat renault peugeot citroen volvo tesla mazda nissan hyundai kia mini opel vauxhall seat subaru suzuki porsche jeep van electric_car hybrid suv prius corolla civic dacia
bike: bike bicycle cycle motorbike motorcycle scooter | bike bicycle e-bike cycles motorbike motorcycle yamaha harley ducati scooter moped vespa
brand: make brand model manufacturer type_of | is_a toyota honda ford bmw audi volvo tesla skoda apple samsung google sony canon nikon fendt dell lenovo asics nike adidas
device: phone mobile smartphone handset device cell_phone | iphone android pixel samsung galaxy fairphone phone
computer: computer laptop pc machine operating_system notebook | laptop macbook thinkpad computer pc linux windows mac ubuntu imac dell lenovo
software: software app program tool editor ide use_for | app lightroom photoshop excel latex word vim vscode vs_code emacs notion figma uses pycharm intellij capture_one obsidian autocad slack
code: programming_language code program coding | python rust java javascript typescript go kotlin swift ruby php haskell c++ scala codes
database: database db | postgres postgresql mysql sqlite mongodb oracle redis
os: operating_system os distro | linux ubuntu debian fedora arch windows macos
camera: camera lens take_pictures photograph | camera nikon canon sony fujifilm leica lens
appliance: appliance device household_appliance machine white_goods | washing_machine dishwasher fridge refrigerator oven dryer vacuum microwave kettle toaster freezer stove coffee_machine
furniture: furniture | sofa couch table bed desk wardrobe shelf chair bookcase armchair
clothes: wear clothes clothing outfit wardrobe dress style fashion shoes jacket | wears clothes dress suit jeans shirt black_clothes shoes sneakers boots jacket hat jumper
shoe: shoe shoes trainers sneakers boots footwear | shoes sneakers trainers boots asics nike adidas sandals
shop: shop shopping groceries supermarket buy_food | shops supermarket tesco aldi lidl market groceries
buy: buy purchase need_to_buy get shopping_list want_to_get have_to_buy | buy buys needs purchase wants_a new
sold: sell sold get_rid_of give_away bought_my_company bought_my who_bought | sold sells selling acquired
roof: roof rooftop on_top barn | roof solar_panels solar panels barn tiles chimney loft
gift: gift present birthday_present surprise | gift present surprise
bank: bank account banking bank_account | bank account revolut barclays hsbc
loan: loan mortgage debt owe repay credit | loan mortgage debt owes pay_off credit
savings: save saving savings save_up put_aside | saves saving savings deposit
budget: budget spend afford how_much_can_i_spend spend_on allowed_to_spend | budget spend limit dollars_a_week pounds_a_week
invest: invest investment stocks shares pension_fund put_my_money | invests stocks etf shares bonds crypto bitcoin index_fund funds wind_farms property
subscription: subscription subscribe subscribed streaming | subscription subscribes netflix spotify membership
bill: bill electricity provider internet energy_supplier | bill provider electricity internet gas contract
wedding: wedding get_married marry wedding_day tie_the_knot getting_married | wedding marries marrying engaged married fiance fiancee bride groom
anniversary: anniversary wedding_anniversary married_since when_did_i_get_married when_did_i_marry when_did_we_marry when_were_we_married | anniversary married_in married_on wedding married_since wedding_anniversary married
event: event party festival concert ceremony celebrate celebration occasion | party festival concert ceremony celebrates birthday wedding gala conference reunion
booking: book booked booking reservation reserve hire hired | booked booking reservation reserved hired
plan: plan planning plans intend going_to want_to upcoming next looking_forward | plans planning wants intends going_to will hopes
goal: goal aim ambition dream target resolution hope achieve want_to aspire bucket_list | goal aims dream wants_to hopes target plans_to would_like resolution
habit: habit routine usually every_day daily regularly ritual | every daily each_morning each_evening every_morning every_day always usually
weekend: weekend weekends saturday sunday saturdays sundays | weekend saturday sunday
weekday: midweek middle_of_the_week middle_of_week mid-week weekday | wednesday tuesday thursday monday
task: task to-do todo have_to_do chores must_do need_to_do errand remember_to | needs_to must has_to pick_up renew appointment task call reminder
answer_style: answer reply respond talk_to_me speak_to_me write_to_me tone style explain explanation response | short answers concise formal informal bullet direct detailed polite emoji prefers plain jokes humour
like: like love enjoy favourite favorite prefer best keen fond | likes loves enjoys favourite favorite prefers fan fond adores
dislike: dislike hate detest annoy annoys bother bothers can't_stand not_like pet_peeve avoid | dislikes hates detests annoyed annoys can't_stand does_not_like doesn't_like bothered avoids
"""

PEOPLE = """
spouse: wife husband spouse partner better_half other_half significant_other late_husband late_wife | wife husband spouse married widow widower late_husband late_wife widowed divorced single
partner: partner girlfriend boyfriend dating relationship significant_other seeing_someone love_life fiance fiancee better_half in_a_relationship_with my_relationship together_with going_out_with | girlfriend boyfriend partner dating fiance fiancee relationship single divorced
ex: ex ex-wife ex-husband former_wife former_husband ex-girlfriend ex-boyfriend | ex ex-wife ex-husband divorced
marital: married marry single divorced widowed marital_status relationship_status widow widower husband_alive wife_alive wife husband_anymore | married single divorced separated widowed widow widower engaged divorce wedding wife husband
child: child children kid kids offspring boys girls little_ones twins how_many_kids how_many_children | child children son daughter sons daughters kid kids baby twins toddler au_pair babysitter nanny nursery kindergarten childminder daycare parents_evening mother_of father_of mum_of dad_of mother_of_three mother_of_two father_of_two father_of_three childless child-free no_children
son: son sons boy boys | son sons boy
daughter: daughter daughters girl girls | daughter daughters girl
baby: baby newborn infant toddler little_one | baby newborn daughter son infant toddler
grandchild: grandchild grandchildren grandson granddaughter grandkids | grandchild grandchildren grandson granddaughter
sibling: sibling siblings brothers_or_sisters brothers_and_sisters | brother sister brothers sisters sibling siblings twin_brother twin_sister only_child
brother: brother brothers | brother brothers twin_brother
sister: sister sisters | sister sisters
parent: parent parents folks | parent parents mother father mum mom dad
mother: mother mum mom mam mummy | mother mum mom parents
father: father dad daddy | father dad parents
grandparent: grandparents grandmother grandma granny grandfather grandpa | grandmother grandma granny nan grandfather grandpa grandparents
inlaw: in-laws mother-in-law father-in-law sister-in-law brother-in-law | mother-in-law father-in-law sister-in-law brother-in-law in-laws law
aunt: aunt auntie | aunt auntie
uncle: uncle | uncle
cousin: cousin cousins niece nephew | cousin niece nephew
relative: relatives relative godchild | aunt uncle cousin niece nephew godson goddaughter
family: family family_member relatives household folks | wife husband son daughter children mother father brother sister parents family
friend: friend friends best_friend buddy mate pal | friend friends buddy
roommate: roommate flatmate housemate live_with share_a_flat living_with share_my_flat | roommate flatmate housemate shares_a_flat shares_an_apartment lives_with
sitter: babysitter nanny childminder au_pair babysit | babysitter nanny childminder au_pair grandma grandmother
childcare: babysit babysits babysitter childminder nanny look_after looks_after take_care_of takes_care_of mind_the_kids watch_the_kids childcare mind_the_children watches_the_kids picks_up_the_kids kids_while | looks_after takes_care_of babysits babysitter nanny childminder nursery kindergarten daycare au_pair picks_up minds custody
pet: pet pets ?animal ?animals | dog cat puppy kitten rabbit hamster parrot horse turtle goldfish guinea bird fish tortoise budgie ferret snake chickens hens bees pony gerbil cockatiel canary lizard gecko cow cows sheep goat goats
dog: dog puppy pooch | dog puppy labrador retriever poodle collie terrier dachshund beagle spaniel bulldog shepherd husky corgi whippet greyhound
cat: cat kitten kitty | cat kitten tabby siamese persian maine_coon
breed: breed kind_of_dog kind_of_cat type_of_dog sort_of_dog | labrador retriever poodle collie terrier dachshund beagle spaniel bulldog shepherd husky corgi siamese persian tabby mongrel crossbreed maine_coon whippet greyhound border
dogsport: dog_sports dog_sport dog_school dog_training dog_class | agility obedience dog_school puppy_class flyball training
adopt: get_my_puppy get_my_dog get_my_cat come_from adopt shelter breeder get_from got_from | adopted shelter breeder rescue rescued
vet: vet veterinarian animal_doctor | vet veterinarian
herd: herd livestock cattle flock | cows sheep goats pigs cattle chickens hens herd flock
attorney: lawyer attorney solicitor barrister legal | lawyer attorney solicitor barrister notary
court: court trial hearing lawsuit judge | court trial hearing lawsuit case
landlord: landlord landlady owner_of_my_flat owns_my_flat owns_my_apartment owns_my_house who_owns rent_from | landlord landlady
death: die died dead death passed_away lost alive | died passed_away death deceased widow widower late
"""

PLACES = """
italy: italy italian | rome milan naples venice florence turin bologna sicily palermo verona pisa genoa sardinia tuscany como amalfi
france: france french | paris lyon marseille nice bordeaux toulouse provence strasbourg lille brittany normandy nantes
spain: spain spanish | madrid barcelona valencia seville granada malaga bilbao mallorca ibiza tenerife
portugal: portugal portuguese | lisbon porto algarve madeira azores faro
germany: germany german | berlin munich hamburg cologne frankfurt leipzig dresden stuttgart bavaria bremen
uk: england uk britain united_kingdom scotland wales english british | london manchester leeds bristol edinburgh glasgow cardiff oxford cambridge liverpool birmingham york brighton cornwall yorkshire
ireland: ireland irish | dublin cork galway limerick
usa: usa america united_states states american | new_york boston chicago seattle california texas austin denver miami hawaii los_angeles san_francisco florida portland washington
japan: japan japanese | tokyo kyoto osaka hokkaido nara okinawa sapporo
china: china chinese | beijing shanghai shenzhen guangzhou chengdu hangzhou xian
greece: greece greek | athens crete santorini rhodes corfu thessaloniki
netherlands: netherlands holland dutch | amsterdam rotterdam utrecht hague friesland groningen eindhoven
austria: austria austrian | vienna salzburg innsbruck graz
switzerland: switzerland swiss | zurich geneva basel bern lausanne lucerne
scandinavia: scandinavia sweden norway denmark finland nordic | stockholm oslo copenhagen helsinki gothenburg bergen uppsala malmo iceland lapland
asia: asia asian | japan china thailand vietnam india korea singapore indonesia bali bangkok tokyo hanoi seoul nepal
africa: africa african | kenya morocco egypt ghana nigeria tanzania accra kumasi nairobi marrakesh cairo
europe: europe european | italy france spain portugal germany greece austria norway sweden iceland croatia
"""

LINES = tuple(
    line
    for theme in (SELF, WORK, STUDY, HEALTH, FOOD, FREE_TIME, THINGS, PEOPLE, PLACES)
    for line in theme.splitlines()
    if line
)
