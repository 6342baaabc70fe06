package v1alpha1

// Condition reasons. Each has a row in docs/semantics.md, and one in meanings.
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
	ReasonWaiting                    = "Waiting"
	ReasonRetrying                   = "Retrying"
	ReasonRetriesExhausted           = "RetriesExhausted"
	ReasonManifestInvalid            = "ManifestInvalid"
	ReasonManifestTooLarge           = "ManifestTooLarge"
	ReasonTooManyObjects             = "TooManyObjects"
	ReasonObserverSchemaInvalid      = "ObserverSchemaInvalid"
	ReasonObserverSchemaNullsDropped = "ObserverSchemaNullsDropped"
	ReasonSourceNotSupported         = "SourceNotSupported"
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

// Disposition is what a problem asks for, and of whom. Whoever decides asks for it, and
// never for a reason.
type Disposition string

// The first three pass without anybody's help, the others are stalled: only a user can
// help. The zero Disposition is that nothing is asked for.
const (
	// DispositionRetry: what went wrong may pass. It is tried again, later each time.
	DispositionRetry Disposition = "Retry"
	// DispositionWait: what is under way has to end first.
	DispositionWait Disposition = "Wait"
	// DispositionInstall: nothing serves the kind, and nothing of it can be there. Its
	// resources wait for it.
	DispositionInstall Disposition = "Install"
	// DispositionGrant: a right is missing. No watch tells when it is granted, so it is
	// tried again soon.
	DispositionGrant Disposition = "Grant"
	// DispositionEdit: what was submitted has mistakes.
	DispositionEdit Disposition = "Edit"
	// DispositionGiveUp: what may have passed did not, as often as spec.retry says.
	DispositionGiveUp Disposition = "GiveUp"
	// DispositionStall: a person has to do something in the cluster, or decide.
	DispositionStall Disposition = "Stall"
)

// Stalled reports whether only a user can help.
func (d Disposition) Stalled() bool {
	switch d {
	case DispositionGrant, DispositionEdit, DispositionGiveUp, DispositionStall:
		return true
	default:
		return false
	}
}

// ReasonInfo is what follows from a reason, for whoever has nothing but its word: a status
// does.
//
// +kubebuilder:object:generate=false
type ReasonInfo struct {
	Disposition Disposition
	// Health: it is about the health of objects that are held.
	Health bool
	// Uncertain: an object may be there though its UID is not on record.
	Uncertain bool
	// Pruned: the resource is desired no longer.
	Pruned bool
	// Foreign: the object is another owner's, and nothing of it is held.
	Foreign bool
}

// Progressing reports whether objects are held, and on their way to be healthy.
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
	ReasonWaiting:                    {Disposition: DispositionWait},
	ReasonRetrying:                   {Disposition: DispositionRetry, Uncertain: true},
	ReasonRetriesExhausted:           {Disposition: DispositionGiveUp, Uncertain: true},
	ReasonManifestInvalid:            {Disposition: DispositionEdit},
	ReasonManifestTooLarge:           {Disposition: DispositionEdit},
	ReasonTooManyObjects:             {Disposition: DispositionEdit},
	ReasonObserverSchemaInvalid:      {Disposition: DispositionEdit},
	ReasonObserverSchemaNullsDropped: {Disposition: DispositionEdit},
	ReasonSourceNotSupported:         {Disposition: DispositionStall},
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
	ReasonShutdownFailed:             {Disposition: DispositionStall},
	ReasonTranslationFailed:          {Disposition: DispositionEdit},
	ReasonFetchFailed:                {Disposition: DispositionRetry},
	ReasonSourceNotAllowed:           {Disposition: DispositionStall},
	ReasonSliceUnavailable:           {Disposition: DispositionStall},
}

// InfoForReason is what follows from a reason; of one that is not known, nothing does.
func InfoForReason(reason string) ReasonInfo { return meanings[reason] }
