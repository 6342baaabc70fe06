// Package faults runs the controller while everything around it fails, and compares the result with the result of the
// same specs without faults. It contains only tests.
//
// `make test-faults` runs it. FAULT_SEED sets the seed of the random numbers, and FAULT_DURATION the duration of a
// storm; in `make test`, a storm is shorter. Every run prints the injected faults, the compared objects, and at the end
// a command line that repeats it: the seed and the number of steps. If a run fails, all requests with their faults and
// responses, and the audit log, are kept in .holdfast/faults.
//
// The seed determines the specs, the changes by other clients and their order; how many writes of the controller happen
// between two of them, and at which write the controller crashes; and which request meets which fault: the n-th patch of
// an object, the m-th event of the n-th watch of a kind, regardless of concurrent requests. It cannot determine how fast
// the API server and its watches are, so a failure may need several attempts to occur again. The printed line contains
// FAULT_TRIES, the number of attempts with the same seed.
//
// Each fault that the controller must survive has a test, here or next to the code:
//
//	death at every write                          pkg/controller TestADeathAtAnyWriteIsNoLoss
//	death between two of many wishes              here TestStorm
//	a cache that is behind                        pkg/controller TestFasterClientIsNotOverwritten
//	watches that end, break off, or are too old   pkg/controller TestWatchesThatBreakAllTheTimeMissNothing
//	watch events twice, lost, or in silence       here TestStorm
//	made anew between two events                  pkg/controller TestRecreatedObjectIsNeverDeleted
//	answers lost, cut, 409, 429, 500, reset       pkg/controller TestRequestsThatFailInAnyWayAreMadeUpFor
//	the same and 503, at random                   here TestStorm
//	an answer that takes 30 seconds               here TestLateResponse
//	API server and etcd killed                    pkg/controller TestAnOutageOfTheControlPlaneIsSurvived, here TestStorm
//	API server paused for longer than the lease   pkg/program             TestAPIServerPausedBeyondLease
//	a leader paused for longer than the lease     pkg/program             TestPausedLeaderExits
//	two that lead                                 pkg/controller TestTwoControllersAtOnceDoNoHarm
//	a kind comes, goes, changes its versions      pkg/controller TestKindIsDeletedAndCreatedAgain and its neighbours
//	discovery that fails in part                  here TestPartialDiscoveryDeletesNothing
//	a namespace that is being deleted             pkg/controller TestWithKubernetesControllers
//	rights that go between create and delete      pkg/controller TestRightsThatGoBeforeTheDeletion
//	a delete that a finalizer holds               pkg/controller TestAForeignFinalizerKeepsItsResource
//	a delete that admission denies                here TestDeniedDeleteRemainsInInventory
//	another writer, and a webhook that rewrites   pkg/controller TestAFightOverOneLeafBacksOffAndIsReported and its neighbours
//	200 kinds that come and go 50 times           here TestRepeatedKindChangesLeakNothing
//	a stop in mid-work                            pkg/controller TestAnEndInMidWorkLeavesNothingHalfDone
//	a spec that would take too much memory        here TestNoTenantExhaustsTheMemory, TestLargeApplicationsAtOnceFit
//	a panic                                       pkg/controller TestAPanicDoesNotStopTheController
package faults
