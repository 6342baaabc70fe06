package page

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
)

// Badge is the display of a state: a color of its own, a sign and a word. The sign and the word are for
// color-blind and blind readers.
type Badge struct {
	// Class is the class in the style sheet.
	Class string
	// Sign is one character.
	Sign string
	Word string
	// Meaning is the text in the legend.
	Meaning string
}

// badges are the badges of fields in the order of the legend. States that need the attention of a user are
// first.
var badges = []Badge{
	{"contested", "!", "contested", "held, and another client keeps changing it back"},
	{"drifted", "~", "drifted", "held, and the live value is not the desired value"},
	{"removed", "−", "removed", "will be removed: no longer in the manifest, or a list is too long"},
	{"restored", "↺", "restored", "released, and its original value is restored"},
	{"other", "×", "not ours", "this Application neither owns nor shares the object"},
	{"claimed", "⊘", "claimed", "another Application holds it, and this one does not write it"},
	{"held", "=", "held", "the manifest sets it, and drift is corrected"},
	{"learned", "+", "learned", "not in the manifest: the live value was recorded, and is held"},
	{"accepted", "≈", "accepted", "held in the accepted form of the API server"},
	{"allowed", "≤", "allowed", "a rule limits its values"},
	{"pushed", "↑", "pushed", "written when the manifest's value changes"},
	{"absent", "∅", "absent", "must not be set"},
	{"reported", "○", "reported", "drift is reported, and never corrected"},
	{"mark", "#", "mark", "tracking metadata of Holdfast"},
	{"free", "·", "free", "not held, and never written again"},
}

// badgeOf returns the badge of a class. An unknown class, from a newer engine, is shown as a word.
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
func fieldBadge(f explain.Field, foreign bool) Badge {
	switch {
	case foreign && f.State != explain.Free:
		return badgeOf("other")
	case f.State == explain.Contested, f.State == explain.Removed, f.State == explain.Restored:
	case f.Drift != "":
		return badgeOf("drifted")
	}
	return badgeOf(string(f.State))
}

// readyBadge returns the badge of the condition Ready. A suspended or observe-only Application is not ready or
// failed in the usual sense, so its mode takes precedence. observing is true in observe-only mode.
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

// isCorrected reports whether the controller corrects the drift of an Application.
func isCorrected(app *v1alpha1.Application) bool {
	return !app.Spec.Suspend && app.Spec.Mode != v1alpha1.ModeObserve
}

// healthBadge returns the badge of the health of an object. It is green only if drift is corrected.
func healthBadge(health string, corrected bool) Badge {
	switch health {
	case "Current", "Ready":
		if !corrected {
			return Badge{Class: "suspended", Sign: "✓", Word: health}
		}
		return Badge{Class: "ready", Sign: "✓", Word: health}
	case "InProgress", "Terminating":
		return Badge{Class: "waiting", Sign: "…", Word: health}
	case "Unknown":
		return Badge{Class: "suspended", Sign: "?", Word: health}
	default:
		return Badge{Class: "failed", Sign: "!", Word: health}
	}
}
