// Package faults has the controller work while everything around it fails, and
// compares what comes of it with what comes of the same wishes without faults. It
// is tests only.
//
// `make test-faults` runs it. FAULT_SEED and FAULT_DURATION say with which random
// numbers, and for how long a storm lasts; as a part of `make test`, a storm is shorter.
// Every run prints what was injected, what was compared, and in the end the line that does
// it again: the seed and the number of steps. Of a run that fails, all requests with their
// faults and answers, and the audit log, are kept in .holdfast/faults.
//
// The seed decides the wishes, the other people's changes and their order; how many writes
// of the controller pass between two of them, and at which it dies; and which request
// meets which fault: the n-th patch of an object, the m-th event of the n-th watch of a
// kind, whatever else is on its way. What it cannot decide is how fast the API server and
// its watches are, so that not every failure comes back at the first try: the printed line
// has FAULT_TRIES, after so many the same seed is given up.
//
// Each fault that the controller must survive has a test, here or beside the code:
//
//	death at every write                          pkg/controller TestADeathAtAnyWriteIsNoLoss
//	death between two of many wishes              here TestStorm
//	a cache that is behind                        pkg/controller TestWhoeverIsFasterIsNotOverwritten
//	watches that end, break off, or are too old   pkg/controller TestWatchesThatBreakAllTheTimeMissNothing
//	watch events twice, lost, or in silence       here TestStorm
//	made anew between two events                  pkg/controller TestAnObjectMadeAnewIsNeverDeleted
//	answers lost, cut, 409, 429, 500, reset       pkg/controller TestRequestsThatFailInAnyWayAreMadeUpFor
//	the same and 503, at random                   here TestStorm
//	an answer that takes 30 seconds               here TestAnAnswerThatComesTooLate
//	API server and etcd killed                    pkg/controller TestAnOutageOfTheControlPlaneIsSurvived, here TestStorm
//	API server paused for longer than the lease   cmd/holdfast-controller TestAnAPIServerThatOutsleepsTheLease
//	a leader paused for longer than the lease     cmd/holdfast-controller TestALeaderThatWasPausedForTooLongEnds
//	two that lead                                 pkg/controller TestTwoControllersAtOnceDoNoHarm
//	a kind comes, goes, changes its versions      pkg/controller TestAKindThatGoesAndComesBack and its neighbours
//	discovery that fails in part                  here TestDiscoveryThatFailsInPartIsNoEndOfAKind
//	a namespace that is being deleted             pkg/controller TestBesideTheControllersOfKubernetes
//	rights that go between create and delete      pkg/controller TestRightsThatGoBeforeTheDeletion
//	a delete that a finalizer holds               pkg/controller TestAForeignFinalizerKeepsItsResource
//	a delete that admission denies                here TestADeleteThatIsDenied
//	another writer, and a webhook that rewrites   pkg/controller TestAFightOverOneLeafBacksOffAndIsReported and its neighbours
//	200 kinds that come and go 50 times           here TestKindsThatComeAndGo
//	a stop in mid-work                            pkg/controller TestAnEndInMidWorkLeavesNothingHalfDone
//	a panic                                       pkg/controller TestAPanicDoesNotStopTheController
package faults
