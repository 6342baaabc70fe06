package page

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// Badge is the display of a state: a color of its own, a sign and a word. The sign and the word are for
// color-blind and blind readers.
type Badge struct {
	// Class is the class in the style sheet.
	Class string
	Sign  string
	Word  string
	// Meaning is the text in the legend.
	Meaning string
}

// badges are the badges of fields in the order of the legend. States that need the attention of a user are
// first.
var badges = []Badge{
	{"contested", "!", "contested", "held, and another client keeps changing it back"},
	{"drifted", "~", "drifted", "held, and the live value is not the desired one"},
	{"removed", "−", "removed", "to be removed: nobody desires it any more, or a list is too long"},
	{"restored", "↺", "restored", "held no longer, and gets back what it had"},
	{"other", "×", "not ours", "of an object that is not this Application's: nothing of it is held"},
	{"claimed", "⊘", "claimed", "another Application holds it: it is left alone"},
	{"held", "=", "held", "the manifest sets it, and drift is corrected"},
	{"learned", "+", "learned", "observed, but not in the manifest: the API server's value was taken over"},
	{"accepted", "≈", "accepted", "held in the form that the API server made of it"},
	{"allowed", "≤", "allowed", "a rule of the observer schema says which values it may have"},
	{"pushed", "↑", "pushed", "written when the manifest's value changes"},
	{"absent", "∅", "absent", "not to be there"},
	{"seeded", "°", "seeded", "written when the object was created, and never again"},
	{"watched", "○", "watched", "looked at, and never written"},
	{"mark", "#", "mark", "says whose the object is"},
	{"free", "·", "free", "not observed: never written again"},
}

func badgeOf(class string) Badge {
	for _, badge := range badges {
		if badge.Class == class {
			return badge
		}
	}
	return Badge{Class: "free", Sign: "?", Word: class}
}

// fieldBadge returns the badge of a field. foreign is true if the object has another owner and no held
// fields.
func fieldBadge(f plan.Field, foreign bool) Badge {
	switch {
	case foreign && f.State != plan.FieldFree:
		return badgeOf("other")
	case f.State == plan.FieldContested, f.State == plan.FieldRemoved, f.State == plan.FieldRestored:
	case f.Drift != "":
		return badgeOf("drifted")
	}
	return badgeOf(string(f.State))
}

// readyBadge returns the badge of the condition Ready.
func readyBadge(status, reason string, suspended, observing bool) Badge {
	switch {
	case suspended:
		return Badge{Class: "suspended", Sign: "‖", Word: "Suspended"}
	case observing:
		return Badge{Class: "observing", Sign: "◎", Word: "Observing"}
	case status == "True":
		return Badge{Class: "ready", Sign: "✓", Word: "Ready"}
	case status != "False", v1alpha1.InfoForReason(reason).Disposition == v1alpha1.DispositionWait, v1alpha1.InfoForReason(reason).Progressing():
		return Badge{Class: "waiting", Sign: "…", Word: "In progress"}
	default:
		return Badge{Class: "failed", Sign: "!", Word: "Not ready"}
	}
}

// healthBadge returns the badge of the health of an object.
func healthBadge(health string) Badge {
	switch health {
	case "Current", "Ready":
		return Badge{Class: "ready", Sign: "✓", Word: health}
	case "InProgress", "Terminating":
		return Badge{Class: "waiting", Sign: "…", Word: health}
	case "Unknown":
		return Badge{Class: "suspended", Sign: "?", Word: health}
	default:
		return Badge{Class: "failed", Sign: "!", Word: health}
	}
}
