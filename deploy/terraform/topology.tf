# What the code declares, read from the files that it is written to: `make topology indexes`. Nothing here asks Google.

locals {
  services = ["governance", "settlement", "verification", "work-publisher"]

  pubsub    = jsondecode(file("${path.module}/../pubsub.json"))
  firestore = jsondecode(file("${path.module}/../firestore.indexes.json"))

  # {topic}/{service}: who may publish what, and {subscription}: who may consume what. Nobody may do anything else.
  publishers = merge([
    for topic, services in local.pubsub.topics : {
      for service in services : "${topic}/${service}" => { topic = topic, service = service }
    }
  ]...)
  consumers = {
    for name, subscription in local.pubsub.subscriptions : name => subscription.service
    if subscription.service != null
  }

  # Each service has a database of its own: who can write the works that strangers send cannot write the ledger.
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

  # Evaluation data, consumers' files and agents' files lie in the bucket that work-publisher and verification share.
  # The others keep nothing in theirs but records that are too large for a document.
  bucket_of = {
    governance     = "governance"
    settlement     = "settlement"
    verification   = "contracts"
    work-publisher = "contracts"
  }
  buckets = { for bucket in distinct(values(local.bucket_of)) : bucket => "${var.project_id}-${var.name}-${bucket}" }
}
