package v1alpha1

// Condition types of an Application.
const (
	// ConditionReady is true when everything is held and healthy.
	ConditionReady = "Ready"
	// ConditionRendered is true when the source gave valid manifests and the
	// observer schema fits them.
	ConditionRendered = "Rendered"
	// ConditionHeld is true when every held field has its value.
	ConditionHeld = "Held"
	// ConditionHealthy is true when every resource is Current by kstatus.
	ConditionHealthy = "Healthy"
	// ConditionCompleted is there, and true, once the workload has said that its
	// work is done.
	ConditionCompleted = "Completed"
	// ConditionReconciling is there, and true, while work goes on.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is there, and true, while only a user can help.
	ConditionStalled = "Stalled"
)
