package page

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// Look is how a state is shown: in a colour of its own, and with a sign and a word, for
// those who do not see colours and for those who see nothing.
type Look struct {
	// Class is that of the style sheet.
	Class string
	Sign  string
	Word  string
	// Meaning is for the legend.
	Meaning string
}

// looks are those of fields, in the order of the legend: what asks for a person first.
var looks = []Look{
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

func lookOf(class string) Look {
	for _, look := range looks {
		if look.Class == class {
			return look
		}
	}
	return Look{Class: "free", Sign: "?", Word: class}
}

// fieldLook is how a field is shown. foreign is true if its object is another owner's.
func fieldLook(f plan.Field, foreign bool) Look {
	switch {
	case foreign && f.State != plan.FieldFree:
		return lookOf("other")
	case f.State == plan.FieldContested, f.State == plan.FieldRemoved, f.State == plan.FieldRestored:
	case f.Drift != "":
		return lookOf("drifted")
	}
	return lookOf(string(f.State))
}

// readyLook is how the condition Ready is shown.
func readyLook(status, reason string, suspended, observing bool) Look {
	switch {
	case suspended:
		return Look{Class: "suspended", Sign: "‖", Word: "Suspended"}
	case observing:
		return Look{Class: "observing", Sign: "◎", Word: "Observing"}
	case status == "True":
		return Look{Class: "ready", Sign: "✓", Word: "Ready"}
	case status != "False", v1alpha1.MeaningOf(reason).Disposition == v1alpha1.DispositionWait, v1alpha1.MeaningOf(reason).Progressing():
		return Look{Class: "waiting", Sign: "…", Word: "In progress"}
	default:
		return Look{Class: "failed", Sign: "!", Word: "Not ready"}
	}
}

// healthLook is how the health of an object is shown.
func healthLook(health string) Look {
	switch health {
	case "Current", "Ready":
		return Look{Class: "ready", Sign: "✓", Word: health}
	case "InProgress", "Terminating":
		return Look{Class: "waiting", Sign: "…", Word: health}
	case "Unknown":
		return Look{Class: "suspended", Sign: "?", Word: health}
	default:
		return Look{Class: "failed", Sign: "!", Word: health}
	}
}
