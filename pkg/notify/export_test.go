package notify

// QueueLength returns the number of queued events.
func (s *Sender) QueueLength() int { return len(s.queue) }
