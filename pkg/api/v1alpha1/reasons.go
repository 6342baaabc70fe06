package v1alpha1

// Condition reasons. Each has a row in docs/status.md, and one in meanings.
const (
	ReasonReady                      = "Ready"
	ReasonRendered                   = "Rendered"
	ReasonHeld                       = "Held"
	ReasonHealthy                    = "Healthy"
	ReasonProgressing                = "Progressing"
	ReasonUnhealthy                  = "Unhealthy"
	ReasonSuspended                  = "Suspended"
	ReasonObserving                  = "Observing"
	ReasonDeleting                   = "Deleting"
	ReasonDeletionUnconfirmed        = "DeletionUnconfirmed"
	ReasonWaiting                    = "Waiting"
	ReasonRetrying                   = "Retrying"
	ReasonRetriesExhausted           = "RetriesExhausted"
	ReasonManifestInvalid            = "ManifestInvalid"
	ReasonManifestTooLarge           = "ManifestTooLarge"
	ReasonTooLarge                   = "TooLarge"
	ReasonTooManyObjects             = "TooManyObjects"
	ReasonObserverSchemaInvalid      = "ObserverSchemaInvalid"
	ReasonHealthCheckInvalid         = "HealthCheckInvalid"
	ReasonObserverSchemaNullsDropped = "ObserverSchemaNullsDropped"
	ReasonSourceNotSupported         = "SourceNotSupported"
	ReasonSpecNotSupported           = "SpecNotSupported"
	ReasonResourceConflict           = "ResourceConflict"
	ReasonRejected                   = "Rejected"
	ReasonForbidden                  = "Forbidden"
	ReasonKindUnknown                = "KindUnknown"
	ReasonKindUnsupported            = "KindUnsupported"
	ReasonContested                  = "Contested"
	ReasonFieldClaimed               = "FieldClaimed"
	ReasonListTooShort               = "ListTooShort"
	ReasonOutsideRule                = "OutsideRule"
	ReasonHookFailed                 = "HookFailed"
	ReasonCompleted                  = "Completed"
	ReasonShuttingDown               = "ShuttingDown"
	ReasonShutdownFailed             = "ShutdownFailed"
	ReasonTranslationFailed          = "TranslationFailed"
	ReasonFetchFailed                = "FetchFailed"
	ReasonSourceNotAllowed           = "SourceNotAllowed"
	ReasonSliceUnavailable           = "SliceUnavailable"
)

// Disposition is the retry policy of a problem, and who must act. Code decides by the disposition, never by
// the reason.
type Disposition string

// The first three need no user. The others are stalled: a user must intervene. The zero Disposition means
// that no action is needed.
const (
	// DispositionRetry: the cause may be temporary. The controller retries with increasing backoff.
	DispositionRetry Disposition = "Retry"
	// DispositionWait: an operation in progress has to finish first.
	DispositionWait Disposition = "Wait"
	// DispositionInstall: the API server does not serve the kind, so no object of it can exist. Its
	// resources wait until the kind is served.
	DispositionInstall Disposition = "Install"
	// DispositionGrant: a permission is missing. No watch reports that it is granted, so the controller
	// retries soon.
	DispositionGrant Disposition = "Grant"
	// DispositionEdit: the submitted Application has validation errors.
	DispositionEdit Disposition = "Edit"
	// DispositionGiveUp: a retried problem persisted for as many attempts as spec.retry allows.
	DispositionGiveUp Disposition = "GiveUp"
	// DispositionStall: a user has to change something in the cluster, or decide.
	DispositionStall Disposition = "Stall"
)

// Stalled reports whether a user must intervene.
func (d Disposition) Stalled() bool {
	switch d {
	case DispositionGrant, DispositionEdit, DispositionGiveUp, DispositionStall:
		return true
	default:
		return false
	}
}

// ReasonInfo contains the properties of a condition reason, for code that has only the reason, for example
// from a status.
//
// +kubebuilder:object:generate=false
type ReasonInfo struct {
	Disposition Disposition
	// Health: the reason concerns the health of held objects.
	Health bool
	// Uncertain: the object may exist although the status has no UID for it.
	Uncertain bool
	// Pruned: the resource is no longer desired.
	Pruned bool
	// Unconfirmed: the object is not deleted until a user confirms it.
	Unconfirmed bool
	// Foreign: the object has another owner, and no field of it is held.
	Foreign bool
	// KeepsAll: no object is deleted although the Application is being deleted.
	KeepsAll bool
}

// Progressing reports whether the objects are held and are becoming healthy.
func (m ReasonInfo) Progressing() bool { return m.Health && m.Disposition == DispositionWait }

var meanings = map[string]ReasonInfo{
	ReasonReady:                      {},
	ReasonRendered:                   {},
	ReasonHeld:                       {},
	ReasonHealthy:                    {Health: true},
	ReasonProgressing:                {Disposition: DispositionWait, Health: true},
	ReasonUnhealthy:                  {Disposition: DispositionRetry, Health: true},
	ReasonSuspended:                  {},
	ReasonObserving:                  {},
	ReasonDeleting:                   {Disposition: DispositionWait, Uncertain: true, Pruned: true},
	ReasonDeletionUnconfirmed:        {Disposition: DispositionStall, Pruned: true, Unconfirmed: true},
	ReasonWaiting:                    {Disposition: DispositionWait},
	ReasonRetrying:                   {Disposition: DispositionRetry, Uncertain: true},
	ReasonRetriesExhausted:           {Disposition: DispositionGiveUp, Uncertain: true},
	ReasonManifestInvalid:            {Disposition: DispositionEdit},
	ReasonManifestTooLarge:           {Disposition: DispositionEdit},
	ReasonTooLarge:                   {Disposition: DispositionEdit},
	ReasonTooManyObjects:             {Disposition: DispositionEdit},
	ReasonObserverSchemaInvalid:      {Disposition: DispositionEdit},
	ReasonHealthCheckInvalid:         {Disposition: DispositionEdit},
	ReasonObserverSchemaNullsDropped: {Disposition: DispositionEdit},
	ReasonSourceNotSupported:         {Disposition: DispositionStall},
	ReasonSpecNotSupported:           {Disposition: DispositionStall},
	ReasonResourceConflict:           {Disposition: DispositionStall, Foreign: true},
	ReasonRejected:                   {Disposition: DispositionStall},
	ReasonForbidden:                  {Disposition: DispositionGrant},
	ReasonKindUnknown:                {Disposition: DispositionInstall},
	ReasonKindUnsupported:            {Disposition: DispositionEdit},
	ReasonContested:                  {Disposition: DispositionRetry},
	ReasonFieldClaimed:               {Disposition: DispositionStall},
	ReasonListTooShort:               {Disposition: DispositionStall},
	ReasonOutsideRule:                {Disposition: DispositionStall},
	ReasonHookFailed:                 {Disposition: DispositionRetry},
	ReasonCompleted:                  {},
	ReasonShuttingDown:               {Disposition: DispositionWait},
	ReasonShutdownFailed:             {Disposition: DispositionStall, KeepsAll: true},
	ReasonTranslationFailed:          {Disposition: DispositionEdit},
	ReasonFetchFailed:                {Disposition: DispositionRetry},
	ReasonSourceNotAllowed:           {Disposition: DispositionStall},
	ReasonSliceUnavailable:           {Disposition: DispositionStall},
}

// InfoForReason returns the properties of a reason, or the zero value for an unknown reason.
func InfoForReason(reason string) ReasonInfo { return meanings[reason] }
