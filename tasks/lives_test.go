package tasks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"fourfold/executor"
	"fourfold/internal/redistest"
	"fourfold/tasks"
)

// lives are what must hold on every kind of Redis: each is tried on a single server, on a cluster of three masters, behind a
// sentinel, and over TLS with the rights that deploy/k8s grants.
var lives = []struct {
	name string
	try  func(*testing.T, *fleet)
}{
	{"CancelCutsCallsInFlightAndSpendsNoMore", lifeCancelCutsCallsInFlightAndSpendsNoMore},
	{"RerunRepaysNothingThatHasAValue", lifeRerunRepaysNothingThatHasAValue},
	{"TheDeadlineEndsAStepInFlight", lifeTheDeadlineEndsAStepInFlight},
	{"FailFastCancelsIndependentBranches", lifeFailFastCancelsIndependentBranches},
	{"FailFastCutsItemsInFlight", lifeFailFastCutsItemsInFlight},
	{"AKeyIsOneRunAndItsReuseAConflict", lifeAKeyIsOneRunAndItsReuseAConflict},
	{"ASubmittedRunWaitsInTheQueue", lifeASubmittedRunWaitsInTheQueue},
	{"ALostBundleIsStoredAgain", lifeALostBundleIsStoredAgain},
	{"UndecodableTasksAreArchivedAndStopNothing", lifeUndecodableTasksAreArchivedAndStopNothing},
	{"ARunWhoseBundleIsGoneIsRejected", lifeARunWhoseBundleIsGoneIsRejected},
	{"AParkedStepHoldsNoSlotAndSpendsNoAttempt", lifeAParkedStepHoldsNoSlotAndSpendsNoAttempt},
	{"AStepThatIsToldWhenToComeBackHoldsNoSlot", lifeAStepThatIsToldWhenToComeBackHoldsNoSlot},
	{"MaxWaitBoundsParking", lifeMaxWaitBoundsParking},
	{"MaxWaitBoundsWhatAFailureAsksFor", lifeMaxWaitBoundsWhatAFailureAsksFor},
	{"ACompletionIsTold", lifeACompletionIsTold},
	{"HandlersServeSteps", lifeHandlersServeSteps},
	{"AChainEndsOKWithItsValues", lifeAChainEndsOKWithItsValues},
	{"ADegradedFirstStepNamesTheRun", lifeADegradedFirstStepNamesTheRun},
	{"AFailedStepSkipsWhatRequiresIt", lifeAFailedStepSkipsWhatRequiresIt},
	{"ItemsAreJoinedInOrder", lifeItemsAreJoinedInOrder},
	{"AHandlersPanicAndErrorLeaveNoTrace", lifeAHandlersPanicAndErrorLeaveNoTrace},
	{"RerunRepaysNoItemThatHasAValue", lifeRerunRepaysNoItemThatHasAValue},
	{"ACallLongerThanALeaseIsMadeOnce", lifeACallLongerThanALeaseIsMadeOnce},
	{"AStoppingWorkerBeginsNothing", lifeAStoppingWorkerBeginsNothing},
	{"AnOverlapMakesNoSecondCall", lifeAnOverlapMakesNoSecondCall},
	{"ADrainThatIsTooShortRepeatsOnlyWhatItCut", lifeADrainThatIsTooShortRepeatsOnlyWhatItCut},
	{"AStepGivenBackIsTheNextToBeTaken", lifeAStepGivenBackIsTheNextToBeTaken},
	{"CallsInFlightAreBoundedOverTheFleet", lifeCallsInFlightAreBoundedOverTheFleet},
	{"CallsPerMinuteAreBoundedOverTheFleet", lifeCallsPerMinuteAreBoundedOverTheFleet},
}

// live tries all of them, on fleets that make makes over an empty Redis.
func live(t *testing.T, flush func(testing.TB), fresh func(testing.TB) *fleet) {
	t.Helper()
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			flush(t)
			l.try(t, fresh(t))
		})
	}
}

// flushed empties a server.
func flushed(s *redistest.Server) func(testing.TB) {
	return func(t testing.TB) {
		if err := s.Admin(t).FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLifeOnASingleRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	live(t, flushed(s), func(t testing.TB) *fleet { return newFleet(t, s.Client(t)) })
}

func TestLifeBehindASentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	live(t, flushed(s.Master), func(t testing.TB) *fleet { return newFleet(t, s.Client(t)) })
}

// acl is the one place where the rights of the fleet's users are written down.
const acl = "../deploy/k8s/components/redis/users.acl"

func TestLifeWithTheRightsThatAreGranted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.TLS(), redistest.Users(acl))
	live(t, flushed(s), func(t testing.TB) *fleet {
		return newFleetOf(t, s.As(t, "worker", "dev-worker"), s.As(t, "producer", "dev-producer"))
	})
}

func TestLifeOnAClusterWithTheRightsThatAreGranted(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, redistest.TLS(), redistest.Users(acl))
	live(t, func(t testing.TB) { c.Flush(t) }, func(t testing.TB) *fleet {
		return newFleetOf(t, c.As(t, "worker", "dev-worker"), c.As(t, "producer", "dev-producer"))
	})
}

// One fleet serves queues that live on different nodes, and each run stays on its own.
func TestQueuesOfAClusterAreServedOnAllNodes(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	f := newFleet(t, c.Client(t))
	queues := map[string]int{}
	for i := range 9 {
		queues[fmt.Sprint("q", i)] = 1 + i%3
	}
	m := newModel(fine)
	f.worker(m, func(cfg *tasks.WorkerConfig) { cfg.Queues = queues })
	f.worker(m, func(cfg *tasks.WorkerConfig) { cfg.Queues = queues })
	var mu sync.Mutex
	var runs []tasks.RunID
	var submits sync.WaitGroup
	b := bundle(t, threeSteps(""))
	for queue := range queues {
		submits.Go(func() {
			for i := range 4 {
				run, err := f.client.Submit(context.Background(), tasks.Submission{Bundle: b, Input: number(i), Queue: queue})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				runs = append(runs, run)
				mu.Unlock()
			}
		})
	}
	submits.Wait()
	for _, run := range runs {
		if s := f.wait(run); s.Outcome != executor.OutcomeOK {
			t.Errorf("run %s: %v", run, s.Outcome)
		}
	}
	if m.total() != 3*len(runs) || len(runs) != 36 {
		t.Errorf("%d calls for %d runs", m.total(), len(runs))
	}
	for _, node := range c.Nodes {
		keys, err := node.Admin(t).Keys(context.Background(), "fourfold:{q*}:run:*").Result()
		if err != nil || len(keys) == 0 {
			t.Errorf("node %s holds %d runs, %v", node.Addr, len(keys), err)
		}
	}
	if known, err := f.client.Queues(context.Background()); err != nil || len(known) != len(queues) {
		t.Errorf("%d queues known, %v", len(known), err)
	}
}
