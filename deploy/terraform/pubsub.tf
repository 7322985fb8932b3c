# Topics and subscriptions as declared in the code. deploy/README.md says why they have no retry policy, filter or
# ordering.

resource "google_pubsub_topic" "this" {
  for_each = local.pubsub.topics

  name = each.key

  depends_on = [google_project_service.this]
}

resource "google_pubsub_subscription" "this" {
  for_each = local.pubsub.subscriptions

  name                       = each.key
  topic                      = google_pubsub_topic.this[each.value.topic].id
  ack_deadline_seconds       = each.value.ack_deadline_seconds
  message_retention_duration = each.value.message_retention_duration

  # Never: by default Pub/Sub deletes a subscription after a month without a consumer.
  expiration_policy {
    ttl = ""
  }

  dynamic "dead_letter_policy" {
    for_each = each.value.dead_letter_topic == null ? [] : [each.value]

    content {
      dead_letter_topic     = google_pubsub_topic.this[dead_letter_policy.value.dead_letter_topic].id
      max_delivery_attempts = dead_letter_policy.value.max_delivery_attempts
    }
  }
}

resource "google_pubsub_topic_iam_member" "publisher" {
  for_each = local.publishers

  topic  = google_pubsub_topic.this[each.value.topic].name
  role   = "roles/pubsub.publisher"
  member = google_service_account.service[each.value.service].member
}

resource "google_pubsub_subscription_iam_member" "consumer" {
  for_each = local.consumers

  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = google_service_account.service[each.value].member
}

# Readiness reads one topic.
resource "google_pubsub_topic_iam_member" "viewer" {
  for_each = toset(local.services)

  topic  = google_pubsub_topic.this[local.pubsub.probed_topic].name
  role   = "roles/pubsub.viewer"
  member = google_service_account.service[each.value].member
}

# Google's agent moves messages after 100 deliveries that ended their process. It needs the two rights below.
locals {
  pubsub_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_topic_iam_member" "dead_letters" {
  topic  = google_pubsub_topic.this[local.pubsub.dead_letters].name
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "dead_letters" {
  for_each = local.consumers

  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}
