# The declarations of the code, from the files that `make topology indexes` writes. Needs no provider.

locals {
  services = ["governance", "settlement", "verification", "work-publisher"]

  pubsub    = jsondecode(file("${path.module}/../pubsub.json"))
  firestore = jsondecode(file("${path.module}/../firestore.indexes.json"))

  # {topic}/{service}: rights to publish. {subscription}: rights to consume. There are no others.
  publishers = merge([
    for topic, services in local.pubsub.topics : {
      for service in services : "${topic}/${service}" => { topic = topic, service = service }
    }
  ]...)
  consumers = {
    for name, subscription in local.pubsub.subscriptions : name => subscription.service
    if subscription.service != null
  }

  # Each service has its own database: the service that accepts works from outside cannot write the ledger.
  # A collection belongs to the service that its name begins with.
  databases = { for service in local.services : service => "${var.name}-${service}" }

  indexes = {
    for index in local.firestore.indexes :
    join(" ", concat([index.collectionGroup], [for field in index.fields : "${field.fieldPath}:${field.order}"])) => merge(index, {
      service = one([for service in local.services : service if startswith(index.collectionGroup, "${service}-")])
    })
  }
  fields = {
    for field in local.firestore.fieldOverrides : "${field.collectionGroup} ${field.fieldPath}" => {
      service    = one([for service in local.services : service if startswith(field.collectionGroup, "${service}-")])
      collection = field.collectionGroup
      path       = field.fieldPath
      indexes    = field.indexes
      expires    = lookup(field, "ttl", false)
    }
  }

  # Work-publisher and verification share a bucket for evaluation data and the files of consumers and agents.
  # The other buckets hold only records that are too large for a document.
  bucket_of = {
    governance     = "governance"
    settlement     = "settlement"
    verification   = "contracts"
    work-publisher = "contracts"
  }
  buckets = { for bucket in distinct(values(local.bucket_of)) : bucket => "${var.project_id}-${var.name}-${bucket}" }
}
