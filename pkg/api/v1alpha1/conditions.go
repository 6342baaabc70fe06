package v1alpha1

// Condition types of an Application.
const (
	// ConditionReady is true if every field is held and every resource is healthy.
	ConditionReady = "Ready"
	// ConditionRendered is true if the source rendered to valid manifests and the observer schema matches
	// them.
	ConditionRendered = "Rendered"
	// ConditionHeld is true if every held field is in sync.
	ConditionHeld = "Held"
	// ConditionHealthy is true if kstatus computes Current for every resource.
	ConditionHealthy = "Healthy"
	// ConditionCompleted is set, with status True, after the workload has reported completion.
	ConditionCompleted = "Completed"
	// ConditionReconciling is set, with status True, while the controller still has work to do.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is set, with status True, while the Application needs a user to intervene.
	ConditionStalled = "Stalled"
)
